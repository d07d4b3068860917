"""The radio channel between two V2X sensors: computes the received power with CARLA's two models.

* "geometric": path loss of ETSI TR 103 257-1 V1.1.1. Two-ray ground interference in line of sight, log-distance behind
  buildings, knife-edge diffraction (ITU-R P.526) over vehicles.
* "winner": path loss of WINNER+ D5.3.

Both have the shadow fading of ETSI TR 103 257-1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

LIGHT_SPEED_MPS = 299_792_458.0
GROUND_PERMITTIVITY = 1.02
NEAREST_M = 0.1


class Sight(Enum):
    """Line-of-sight class of a link: free, obstructed by a vehicle, or obstructed by a building."""

    CLEAR = "los"
    VEHICLE = "nlosv"
    BUILDING = "nlosb"


_FADING_DB = {
    "highway": {Sight.CLEAR: 3.3, Sight.VEHICLE: 3.8, Sight.BUILDING: 6.8},
    "urban": {Sight.CLEAR: 5.2, Sight.VEHICLE: 5.3, Sight.BUILDING: 6.8},
    "rural": {Sight.CLEAR: 4.25, Sight.VEHICLE: 4.55, Sight.BUILDING: 6.8},
}
"""Standard deviation of shadow fading, dB, by scenario and line-of-sight class."""


@dataclass(frozen=True, slots=True)
class Channel:
    """The receiver's attributes."""

    transmit_power_dbm: float
    sensitivity_dbm: float
    frequency_hz: float
    antenna_gain_dbi: float
    path_loss_exponent: float
    reference_m: float
    filter_distance_m: float
    scenario: str
    model: str
    fading_db: float | None  # None: from _FADING_DB

    @staticmethod
    def of(number: Callable[[str, float], float], text: Callable[[str, str], str]) -> Channel:
        """From a blueprint's attributes; `number` and `text` (name, default) read one."""
        custom = None if text("use_etsi_fading", "true") == "true" else number("custom_fading_stddev", 0.0)
        return Channel(
            number("transmit_power", 21.5), number("receiver_sensitivity", -99.0),
            max(number("frequency_ghz", 5.9), 1e-3) * 1e9, number("combined_antenna_gain", 10.0),
            number("path_loss_exponent", 2.7), max(number("d_ref", 1.0), 1e-3), number("filter_distance", 500.0),
            text("scenario", "urban"), text("path_loss_model", "geometric"), custom,
        )  # fmt: skip

    @property
    def wavelength_m(self) -> float:
        return LIGHT_SPEED_MPS / self.frequency_hz


@dataclass(frozen=True, slots=True)
class Link:
    """Geometry of two antennas: distance along the line of sight, heights over the ground, m, and obstructions.

    `edges` are vehicles in the way as (distance from one end, distance from the other, height over the line of sight)
    m.
    """

    distance_m: float
    heights_m: tuple[float, float]
    sight: Sight
    edges: Sequence[tuple[float, float, float]] = ()


def received_power_dbm(channel: Channel, sent_dbm: float, link: Link, rng: np.random.Generator) -> float | None:
    """Received power, dBm; None below the receiver's sensitivity. Draws one normal number from `rng`."""
    sigma = channel.fading_db
    if sigma is None:
        sigma = _FADING_DB[channel.scenario][link.sight]
    fading = float(rng.standard_normal()) * sigma
    power = sent_dbm + channel.antenna_gain_dbi - path_loss_db(channel, link) - fading
    return power if power >= channel.sensitivity_dbm else None


def path_loss_db(channel: Channel, link: Link) -> float:
    """Path loss, dB, without fading."""
    d = max(link.distance_m, NEAREST_M)
    edge = max((knife_edge_db(channel, *e) for e in link.edges), default=0.0) if link.sight is Sight.VEHICLE else 0.0
    if channel.model == "winner":
        return winner_db(channel, d, link.sight) + edge
    if link.sight is Sight.CLEAR:
        return two_ray_db(channel, d, *link.heights_m)
    if link.sight is Sight.BUILDING:
        return free_space_db(channel, channel.reference_m) + 10.0 * channel.path_loss_exponent * math.log10(
            d / channel.reference_m
        )
    return free_space_db(channel, d) + edge


def free_space_db(channel: Channel, distance_m: float) -> float:
    return 20.0 * math.log10(4.0 * math.pi * distance_m / channel.wavelength_m)


def winner_db(channel: Channel, distance_m: float, sight: Sight) -> float:
    """WINNER+ path loss, dB."""
    far, high = math.log10(distance_m), math.log10(channel.frequency_hz / 1e9)
    if sight is Sight.BUILDING:
        return 36.85 + 30.0 * far + 18.9 * high
    if channel.scenario == "highway":
        return 32.4 + 20.0 * far + 20.0 * high
    return 38.77 + 16.7 * far + 18.2 * high


def two_ray_db(channel: Channel, distance_m: float, low_m: float, high_m: float) -> float:
    """Path loss, dB, of the sum of the direct and the ground-reflected ray with their phases."""
    ground = math.sqrt(max(distance_m**2 - (low_m - high_m) ** 2, NEAREST_M**2))
    reflected = math.hypot(ground, low_m + high_m)
    sine, cosine = (low_m + high_m) / reflected, ground / reflected
    root = math.sqrt(GROUND_PERMITTIVITY - cosine**2)
    gamma = (sine - root) / (sine + root)
    phase = 2.0 * math.pi / channel.wavelength_m * (distance_m - reflected)
    both = math.hypot(1.0 + gamma * math.cos(phase), gamma * math.sin(phase))
    return 20.0 * math.log10(4.0 * math.pi * ground / channel.wavelength_m / max(both, 1e-6))


def knife_edge_db(channel: Channel, before_m: float, behind_m: float, height_m: float) -> float:
    """Diffraction loss, dB, over an edge `height_m` above the line of sight (approximation of ITU-R P.526)."""
    before_m, behind_m = max(before_m, NEAREST_M), max(behind_m, NEAREST_M)
    v = height_m * math.sqrt(2.0 * (before_m + behind_m) / (channel.wavelength_m * before_m * behind_m))
    if v < -0.78:
        return 0.0
    return 6.9 + 20.0 * math.log10(math.sqrt((v - 0.1) ** 2 + 1.0) + v - 0.1)
