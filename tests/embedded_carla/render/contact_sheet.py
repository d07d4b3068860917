"""Sheets of all that the renderer can draw, to look at.

python -m tests.embedded_carla.render.contact_sheet --out DIR [--only vehicles] [--weather day]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from embedded_carla.blueprints.props import prop_blueprints
from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.render import Renderer
from embedded_carla.scene import ActorView, Boxes, CameraView, GroundHit, Material, Mesh, Placement, Scenery
from embedded_carla.types import LightState, SemanticTag, SignalColour, Transform, Vector3, WeatherParameters

Image = NDArray[np.uint8]
DAY = WeatherParameters(cloudiness=20, sun_azimuth_angle=70, sun_altitude_angle=42, mie_scattering_scale=0.03)
WEATHERS = {
    "day": DAY,
    "dusk": replace(DAY, sun_altitude_angle=3.0, sun_azimuth_angle=320),
    "night": replace(DAY, sun_altitude_angle=-30.0),
    "rain": replace(DAY, cloudiness=95, precipitation=70, precipitation_deposits=60, wetness=80),
}
COLOURS: tuple[Vector3, ...] = (
    (0.40, 0.02, 0.02),
    (0.75, 0.75, 0.76),
    (0.012, 0.012, 0.013),
    (0.02, 0.05, 0.22),
    (0.30, 0.31, 0.33),
    (0.06, 0.065, 0.07),
    (0.03, 0.12, 0.06),
    (0.55, 0.30, 0.03),
    (0.30, 0.25, 0.18),
)
LIT = int(LightState.LOW_BEAM | LightState.POSITION)


class _Flat:
    def below(self, points: NDArray[np.float64]) -> GroundHit:
        n = len(points)
        return GroundHit(np.zeros(n), np.tile((0.0, 0.0, 1.0), (n, 1)), np.full(n, 1, np.uint8), np.zeros(n, np.int32))


def floor(placements: Sequence[Placement] = ()) -> Scenery:
    """An asphalt square of 200 m with things on it."""
    side = 100.0
    corners = np.array([(-side, -side, 0), (side, -side, 0), (side, side, 0), (-side, side, 0)], dtype=np.float32)
    normals = np.tile(np.array((0.0, 0.0, 1.0), dtype=np.float32), (4, 1))
    quad = np.array([(0, 1, 2), (0, 2, 3)], dtype=np.uint32)
    mesh = Mesh(corners, normals, corners[:, :2].copy(), quad, Material.ASPHALT, SemanticTag.ROADS)
    none = Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.uint8))
    return Scenery(
        "sheet", (mesh,), tuple(placements), none, _Flat(), np.array([1]), np.array([50.0]), (), (), (), (), ()
    )


def picture(
    renderer: Renderer,
    view: CameraView,
    actors: Sequence[ActorView],
    weather: WeatherParameters,
    lights: dict[str, SignalColour] | None = None,
) -> Image:
    """(H, W, 3) BGR."""
    drawn = renderer.render(view, actors, lights or {}, weather, 0.5, rgb=True, depth=False, labels=False)
    assert drawn.bgra is not None
    return np.ascontiguousarray(drawn.bgra[..., :3])


def tiled(images: Sequence[Image], columns: int) -> Image:
    """Pictures of one size side by side."""
    blank = np.zeros_like(images[0])
    padded = [*images, *([blank] * (-len(images) % columns))]
    return np.vstack([np.hstack(padded[k : k + columns]) for k in range(0, len(padded), columns)])


def labelled(image: Image, text: str) -> Image:
    cv2.putText(image, text, (4, 12), cv2.FONT_HERSHEY_SIMPLEX, 0.38, (255, 255, 255), 1, cv2.LINE_AA)
    return image


def vehicle_views() -> Iterator[tuple[str, ActorView]]:
    """Every vehicle blueprint at the origin."""
    for k, blueprint in enumerate(vehicle_blueprints()):
        spec = blueprint.vehicle
        assert spec is not None
        bits = LIT | (int(LightState.SPECIAL1) if "police" in spec.type_id or "ambulance" in spec.type_id else 0)
        yield (
            spec.type_id.removeprefix("vehicle."),
            ActorView(
                100 + k,
                spec.shape,
                Transform(),
                spec.extent,
                COLOURS[k % len(COLOURS)],
                spec.tag,
                bits,
                0.25,
                0.6 * k,
                k,
                model=spec.type_id,
            ),
        )


def around(
    yaw_deg: float, distance_m: float, height_m: float, aim_m: float, width: int, height: int, fov: float = 40.0
) -> CameraView:
    """A camera on a circle about the origin, looking at the point `aim_m` above it; yaw 0 sees the front."""
    yaw = np.radians(yaw_deg)
    pitch = float(np.degrees(np.arctan2(aim_m - height_m, distance_m)))
    at = Transform(distance_m * np.cos(yaw), distance_m * np.sin(yaw), height_m, pitch, yaw_deg + 180.0)
    return CameraView(width, height, fov, at)


def vehicles(weather: WeatherParameters) -> Image:
    renderer = Renderer(floor())
    images = []
    for name, view in vehicle_views():
        reach = 2.3 * float(np.hypot(view.extent[0], view.extent[2])) + 1.0
        for yaw, bits in ((35.0, view.lights), (205.0, view.lights | int(LightState.BRAKE | LightState.LEFT_BLINKER))):
            camera = around(yaw, reach, 1.5, 0.9 * view.extent[2], 320, 200)
            images.append(labelled(picture(renderer, camera, [replace(view, lights=bits)], weather), name))
    renderer.close()
    return tiled(images, 8)


def far_vehicles(weather: WeatherParameters) -> Image:
    """The middle and far levels of detail, enlarged."""
    renderer = Renderer(floor())
    images = []
    for _, view in list(vehicle_views())[::3]:
        for distance in (22.0, 50.0):
            camera = around(205.0, distance, 1.6, 0.9, 640, 360, 90.0)
            shot = picture(renderer, camera, [replace(view, lights=view.lights | int(LightState.BRAKE))], weather)
            half = 48 if distance < 30 else 24
            crop = shot[180 - half // 2 - half // 4 : 180 + half // 2 - half // 4, 320 - half : 320 + half]
            images.append(cv2.resize(crop, (288, 144), interpolation=cv2.INTER_NEAREST))
    renderer.close()
    return tiled([np.asarray(i, dtype=np.uint8) for i in images], 6)


def walkers(weather: WeatherParameters) -> Image:
    renderer = Renderer(floor())
    images = []
    for k in range(14):
        half = (0.25, 0.25, 0.6) if k >= 10 else (0.188, 0.188, 0.83 + 0.02 * (k % 6))
        view = ActorView(
            300 + k, "walker", Transform(), half, (0.4, 0.4, 0.4), SemanticTag.PEDESTRIANS, 0, 0.0, 0.9 * k, k * 7 + k
        )
        for yaw in (30.0, 90.0, 200.0):
            images.append(
                picture(renderer, around(yaw, 3.6, 1.4, 0.85, 160, 240, 24.0 if False else 28.0), [view], weather)
            )
    renderer.close()
    return tiled(images, 14)


def signals(weather: WeatherParameters) -> Image:
    """Heads in each state, near and at 60 m as a camera of 640 px sees them."""
    head = (0.3, 0.52, 1.16)
    images = []
    for state in (SignalColour.RED, SignalColour.YELLOW, SignalColour.GREEN, SignalColour.OFF):
        places = [
            Placement("signal_head", Transform(0.0, y, 2.5, 0.0, 0.0), head, SemanticTag.TRAFFIC_LIGHT, k, "", "1")
            for k, y in enumerate((0.0, 1.2))
        ] + [Placement("pole", Transform(-0.22, 0.0, 0.0), (0.14, 0.14, 3.66), SemanticTag.POLES, 1)]
        renderer = Renderer(floor(places))
        images.append(picture(renderer, around(20.0, 5.0, 1.6, 2.6, 320, 240, 50.0), [], weather, {"1": state}))
        far = picture(renderer, around(0.0, 60.0, 1.6, 1.6, 640, 360, 90.0), [], weather, {"1": state})
        images.append(
            np.asarray(cv2.resize(far[150:180, 305:345], (320, 240), interpolation=cv2.INTER_NEAREST), dtype=np.uint8)
        )
        renderer.close()
    return tiled(images, 4)


def things(weather: WeatherParameters) -> Image:
    """Plants, buildings, signs and furniture, each in several seeds."""
    kinds = (
        ("tree_broadleaf", (5.0, 5.0, 9.0), 4),
        ("tree_conifer", (4.5, 4.5, 11.0), 3),
        ("bush", (1.6, 1.6, 1.2), 2),
        ("building", (14.0, 20.0, 22.0), 5),
        ("house", (9.0, 13.0, 8.0), 3),
        ("sign_stop", (0.04, 0.8, 0.8), 1),
        ("sign_yield", (0.04, 0.9, 0.9), 1),
        ("sign_speed", (0.04, 0.75, 0.75), 2),
        ("street_lamp", (2.4, 0.25, 7.5), 1),
        ("guard_rail", (4.0, 0.15, 0.8), 1),
        ("bench", (1.8, 0.6, 0.9), 1),
        ("wall", (4.0, 0.3, 1.5), 1),
    )
    images = []
    for name, size, seeds in kinds:
        for k in range(seeds):
            text = ("30", "90")[k % 2] if name == "sign_speed" else ""
            place = Placement(name, Transform(), size, SemanticTag.OTHER, 11 * k + 5, text)
            renderer = Renderer(floor([place]))
            reach = 1.25 * max(size[1], size[2], size[0]) + 0.5 * size[0]
            images.append(
                labelled(
                    picture(
                        renderer,
                        around(28.0, reach, max(1.6, 0.3 * size[2]), 0.5 * size[2], 240, 240, 60.0),
                        [],
                        weather,
                    ),
                    name,
                )
            )
            renderer.close()
    return tiled(images, 8)


def props(weather: WeatherParameters) -> Image:
    renderer = Renderer(floor())
    images = []
    for k, blueprint in enumerate(
        b for b in prop_blueprints() if b.type_id.startswith("static.prop") and max(b.box.extent) > 0
    ):
        name = blueprint.type_id.rsplit(".", 1)[-1]
        half = blueprint.box.extent
        view = ActorView(500 + k, name, Transform(), half, (0.4, 0.4, 0.4), SemanticTag.DYNAMIC, seed=k)
        camera = around(35.0, 3.4 * max(half) + 0.4, 1.6 * max(half) + 0.3, half[2], 180, 160, 45.0)
        images.append(labelled(picture(renderer, camera, [view], weather), name))
    renderer.close()
    return tiled(images, 8)


SHEETS = {
    "vehicles": vehicles,
    "far_vehicles": far_vehicles,
    "walkers": walkers,
    "signals": signals,
    "things": things,
    "props": props,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=sorted(SHEETS), action="append")
    parser.add_argument("--weather", choices=sorted(WEATHERS), action="append")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for sheet in args.only or SHEETS:
        for name in args.weather or WEATHERS:
            path = args.out / f"{sheet}_{name}.png"
            cv2.imwrite(str(path), SHEETS[sheet](WEATHERS[name]))
            print(path)


if __name__ == "__main__":
    main()
