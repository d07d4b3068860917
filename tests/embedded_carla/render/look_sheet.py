"""The picture of the page about looks: four places in the default look and in five others.

python -m tests.embedded_carla.render.look_sheet docs/images/looks.jpg

With `--beside PICTURE ...` the sheet ends with a row of these pictures, to compare with other renderers.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from embedded_carla.maps import MapLibrary
from embedded_carla.opendrive import parse
from embedded_carla.render import Renderer
from embedded_carla.render.look import Look, look_of
from embedded_carla.scene import CameraView, Scenery
from embedded_carla.scenery import build
from embedded_carla.types import LightState, SignalColour, Transform, WeatherParameters
from tests.embedded_carla.render.contact_sheet import DAY, Image, labelled, tiled
from tests.embedded_carla.render.overview import LOW_SUN, actors

SIZE_PX = (320, 180)
SEEDS = (0, 1, 2, 4, 6, 8)
PLACES: tuple[tuple[str, int, WeatherParameters], ...] = (
    ("city_grid", 63, DAY),
    ("city_grid", -1, LOW_SUN),
    ("motorway", 4, replace(DAY, cloudiness=95)),
    ("city_grid", 40, replace(DAY, sun_altitude_angle=-40.0)),
)
"""Map, spawn point (-1: before a signal head), weather."""


def eye_at(scenery: Scenery, start: int) -> Transform:
    """Behind the windscreen of a car on a spawn point, or in front of the first signal head."""
    if start >= 0:
        return scenery.spawn_points[start % len(scenery.spawn_points)] @ Transform(x=0.5, z=1.0)
    head = next(placement for placement in scenery.placements if placement.prototype == "signal_head")
    return head.transform @ Transform(x=6.0, y=-1.0, z=-0.6, yaw_deg=180.0)


def row(look: Look, sceneries: dict[str, Scenery]) -> list[Image]:
    """The places in one look."""
    renderers = {name: Renderer(scenery, look) for name, scenery in sceneries.items()}
    made: list[Image] = []
    for name, start, weather in PLACES:
        scenery = sceneries[name]
        eye = eye_at(scenery, start)
        signals = {site.signal_id: SignalColour.RED for site in scenery.signals}
        lit = int(LightState.LOW_BEAM | LightState.POSITION) if weather.sun_altitude_angle < 0.0 else 0
        picture = renderers[name].render(
            CameraView(*SIZE_PX, 70.0, eye), actors(scenery, eye, lit), signals, weather, 3.0,
            rgb=True, depth=False, labels=False,
        )  # fmt: skip
        assert picture.bgra is not None
        text = "" if made else f"look {look.seed}"
        made.append(labelled(np.ascontiguousarray(picture.bgra[..., :3]), text))
    for renderer in renderers.values():
        renderer.close()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path, help="the JPEG to write")
    parser.add_argument("--beside", nargs="+", type=Path, default=[], help="pictures for one more row")
    args = parser.parse_args()
    names = {name for name, _, _ in PLACES}
    sceneries = {name: build(parse(MapLibrary([]).load_text(name)[1], name)) for name in sorted(names)}
    images = [image for seed in SEEDS for image in row(look_of(seed), sceneries)]
    for path in args.beside:
        picture = cv2.imread(str(path))
        if picture is None:
            parser.error(f"{path}: no such picture")
        images.append(np.asarray(cv2.resize(picture, SIZE_PX, interpolation=cv2.INTER_AREA), dtype=np.uint8))
    cv2.imwrite(str(args.file), tiled(images, len(PLACES)), [cv2.IMWRITE_JPEG_QUALITY, 82])


if __name__ == "__main__":
    main()
