"""V2X messages in the memory layout of CARLA 0.9.16's client: received power, then an ETSI message of 464 or 136 bytes.

The fields of the Cooperative Awareness Message (CAM) are those of ETSI EN 302 637-2 with the value ranges of TS 102
894-2. A long has 8 bytes, structs are aligned as on x86-64, and the two lists (zones of a road-side unit, path history)
are empty vectors, whose three pointers must be zero. The real client decodes this layout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embedded_carla.types import LightState, SemanticTag, Vector3

PROTOCOL_VERSION = 2
MESSAGE_CAM = 2
MESSAGE_CUSTOM = 0
CUSTOM_BYTES = 100
STATION_ROAD_SIDE = 15
STATION_SPECIAL = 10
HEADING_UNAVAILABLE, SEMI_AXIS_UNAVAILABLE, CURVATURE_UNAVAILABLE = 3601, 4095, 30001
_STATIONS = {
    SemanticTag.PEDESTRIANS: 1, SemanticTag.BICYCLE: 2, SemanticTag.MOTORCYCLE: 4, SemanticTag.CAR: 5,
    SemanticTag.BUS: 6, SemanticTag.TRUCK: 7, SemanticTag.TRAIN: 11, SemanticTag.BUILDINGS: 15, SemanticTag.WALLS: 15,
    SemanticTag.FENCES: 15, SemanticTag.POLES: 15, SemanticTag.TRAFFIC_LIGHT: 15, SemanticTag.TRAFFIC_SIGNS: 15,
}  # fmt: skip
_EXTERIOR_LIGHTS = (
    LightState.LOW_BEAM, LightState.HIGH_BEAM, LightState.LEFT_BLINKER, LightState.RIGHT_BLINKER, None,
    LightState.REVERSE, LightState.FOG, LightState.POSITION,
)  # fmt: skip


def _longs(*names: str) -> list[tuple[str, str]]:
    return [(name, "<i8") for name in names]


_HEADER = _longs("protocol", "message", "station")
CAM = np.dtype(
    [
        ("power_dbm", "<f4"), *_HEADER, *_longs(
            "generation_ms", "station_type", "latitude", "longitude", "semi_major", "semi_minor", "orientation",
            "altitude", "altitude_confidence", "high_present", "heading", "heading_confidence", "speed",
            "speed_confidence", "direction", "length", "length_confidence", "width", "acceleration_x",
            "acceleration_x_confidence", "curvature", "curvature_confidence", "curvature_mode", "yaw_rate",
            "yaw_rate_confidence",
        ),
        ("has_control", "u1"), ("control", "u1"), ("has_lane", "u1"), *_longs("lane"), ("has_wheel", "u1"),
        *_longs("wheel", "wheel_confidence"), ("has_y", "u1"), *_longs("acceleration_y", "acceleration_y_confidence"),
        ("has_z", "u1"), *_longs("acceleration_z", "acceleration_z_confidence"), ("has_class", "u1"), *_longs("class"),
        ("has_zone", "u1"), *_longs("zone_latitude", "zone_longitude", "zone_id"), ("has_zone_id", "u1"),
        *_longs("zone_count"), ("zones", "<u8", (3,)), *_longs("low_present", "role"), ("lights", "u1"),
        *_longs("path_count"), ("path", "<u8", (3,)),
    ],
    align=True,
)  # fmt: skip
CUSTOM = np.dtype([("power_dbm", "<f4"), *_HEADER, ("text", f"S{CUSTOM_BYTES}")], align=True)


@dataclass(frozen=True, slots=True)
class Station:
    """Content of a station's own message. Lengths in m.

    `acceleration_mps2` is in the station's frame and includes gravity, as in CARLA; `heading_deg` is clockwise from
    north; `yaw_rate_degps` is positive to the right, as in CARLA.
    """

    station_id: int
    station_type: int
    latitude_deg: float
    longitude_deg: float
    altitude_m: float
    heading_deg: float = 0.0
    speed_mps: float = 0.0
    length_m: float = 0.0
    width_m: float = 0.0
    acceleration_mps2: Vector3 = (0.0, 0.0, 0.0)
    yaw_rate_degps: float = 0.0
    lights: int = 0


def station_type(tag: SemanticTag, special_type: str) -> int:
    """ETSI's StationType of an actor; 0 (unknown) for an actor without one."""
    return STATION_SPECIAL if special_type == "emergency" else _STATIONS.get(tag, 0)


def cam(station: Station, time_s: float, with_low_frequency: bool) -> np.ndarray[tuple[int, ...], np.dtype[np.void]]:
    """One message (1,) of CAM; the caller fills in the received power."""
    m = np.zeros(1, dtype=CAM)
    m["protocol"], m["message"], m["station"] = PROTOCOL_VERSION, MESSAGE_CAM, station.station_id
    m["generation_ms"] = round(time_s * 1000.0) % 65536
    m["station_type"] = station.station_type
    m["latitude"], m["longitude"] = round(station.latitude_deg * 1e6) * 10, round(station.longitude_deg * 1e6) * 10
    m["semi_major"] = m["semi_minor"] = SEMI_AXIS_UNAVAILABLE
    m["orientation"], m["altitude"], m["altitude_confidence"] = HEADING_UNAVAILABLE, round(station.altitude_m * 100), 15
    if station.station_type == STATION_ROAD_SIDE:
        m["high_present"] = 2
    elif station.station_type != _STATIONS[SemanticTag.PEDESTRIANS]:
        _fill_vehicle(m, station)
        if with_low_frequency:
            m["low_present"], m["role"] = 1, _role(station.station_type)
            m["lights"] = sum(
                1 << (7 - bit) for bit, light in enumerate(_EXTERIOR_LIGHTS) if light and station.lights & light
            )
    return m


def _fill_vehicle(m: np.ndarray[tuple[int, ...], np.dtype[np.void]], station: Station) -> None:
    m["high_present"] = 1
    m["heading"], m["heading_confidence"] = round(station.heading_deg % 360.0 * 10.0) % 3600, 10
    speed = abs(station.speed_mps)
    m["speed"], m["speed_confidence"] = min(round(speed * 100.0), 16382), 3
    m["direction"] = 0 if station.speed_mps >= 0.0 else 1
    m["length"], m["length_confidence"] = round(station.length_m * 10.0), 4
    m["width"] = round(station.width_m * 10.0)
    for axis, value in zip("xyz", station.acceleration_mps2, strict=True):
        tenths = round(value * 10.0)
        m[f"acceleration_{axis}"] = tenths if -160 <= tenths <= 160 else 161
        m[f"acceleration_{axis}_confidence"] = 102
    m["has_y"] = m["has_z"] = 1
    m["curvature"], m["curvature_confidence"] = CURVATURE_UNAVAILABLE, 7
    rate = round(station.yaw_rate_degps * 100.0)
    m["yaw_rate"], m["yaw_rate_confidence"] = rate if abs(rate) <= 32766 else 32767, 8


def _role(kind: int) -> int:
    """ETSI's VehicleRole: public transport, emergency or default."""
    return {6: 1, 11: 1, STATION_SPECIAL: 6}.get(kind, 0)


def custom(station_id: int, text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.void]]:
    """One message (1,) of CUSTOM with the first 99 bytes of `text` in UTF-8; the client needs a terminating zero."""
    m = np.zeros(1, dtype=CUSTOM)
    m["protocol"], m["message"], m["station"] = PROTOCOL_VERSION, MESSAGE_CUSTOM, station_id
    m["text"] = text.encode()[: CUSTOM_BYTES - 1].decode(errors="ignore").encode()
    return m
