"""The picture of the page about pictures: one street by weather and hour, and other roads.

python -m tests.embedded_carla.render.overview docs/images/pictures.jpg
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.maps import MapLibrary
from embedded_carla.opendrive import parse
from embedded_carla.render import Renderer
from embedded_carla.scene import ActorView, CameraView, Scenery
from embedded_carla.scenery import build
from embedded_carla.types import LightState, SemanticTag, SignalColour, Transform, WeatherParameters
from tests.embedded_carla.render.contact_sheet import COLOURS, DAY, Image, labelled, tiled

SIZE_PX = (480, 270)
LOW_SUN = replace(DAY, sun_altitude_angle=9.0, sun_azimuth_angle=15.0, mie_scattering_scale=0.3)
WET = replace(DAY, cloudiness=90, precipitation=70, precipitation_deposits=70, wetness=90)
CITY: tuple[tuple[str, WeatherParameters], ...] = (
    ("day", DAY),
    ("low sun", LOW_SUN),
    ("dusk", replace(DAY, sun_altitude_angle=-1.0, cloudiness=40)),
    ("night", replace(DAY, sun_altitude_angle=-40.0)),
    ("overcast", replace(DAY, cloudiness=95)),
    ("rain, puddles", WET),
    ("rain at night", replace(WET, sun_altitude_angle=-40.0)),
    ("fog", replace(DAY, cloudiness=60, fog_density=55, fog_falloff=0.4)),
    ("dust storm", replace(DAY, dust_storm=60)),
)
ROADS = (("country road", "country_road", 12), ("motorway", "motorway", 4), ("side street", "city_grid", 63))


def ahead(eye: Transform, places: np.ndarray, count: int) -> list[int]:
    """The `count` of `places` (n, 3) nearest in front of `eye`."""
    rel = places - np.array(eye.location)
    reach = np.where(rel @ eye.matrix()[:3, 0] > 6.0, np.linalg.norm(rel, axis=1), np.inf)
    return [int(k) for k in np.argsort(reach, kind="stable")[:count] if np.isfinite(reach[k])]


def actors(scenery: Scenery, eye: Transform, lights: int) -> list[ActorView]:
    """Vehicles of all blueprints on the spawn points ahead, walkers on the pavements."""
    specs = [b.vehicle for b in vehicle_blueprints() if b.vehicle is not None]
    starts = scenery.spawn_points
    made = []
    for n, k in enumerate(ahead(eye, np.array([p.location for p in starts]), 40)):
        spec, pose = specs[(5 * n + 3) % len(specs)], replace(starts[k], z=starts[k].z - 0.5)
        bits = lights | (int(LightState.BRAKE) if n % 3 == 0 else 0)
        made.append(
            ActorView(
                100 + n,
                spec.shape,
                pose,
                spec.extent,
                COLOURS[n % len(COLOURS)],
                spec.tag,
                bits,
                0.0,
                0.4 * n,
                n,
                model=spec.type_id,
                speed_mps=9.0,
            )
        )
    paths = np.concatenate([np.zeros((0, 3)), *(np.asarray(w)[::5] for w in scenery.walkways)])
    for n, k in enumerate(ahead(eye, paths, 24)):
        x, y, z = paths[k].tolist()
        pose, half = Transform(x, y, z, 0.0, 70.0 * n), (0.19, 0.19, 0.86 - 0.02 * (n % 5))
        made.append(
            ActorView(
                300 + n, "walker", pose, half, (0.4, 0.4, 0.4), SemanticTag.PEDESTRIANS, phase_rad=0.9 * n, seed=7 * n
            )
        )
    return made


def view(name: str, start: int, weathers: tuple[tuple[str, WeatherParameters], ...]) -> list[Image]:
    """Pictures of one place, from behind the windscreen of a car that stands on a spawn point."""
    scenery = build(parse(MapLibrary([]).load_text(name)[1], name))
    eye = scenery.spawn_points[start % len(scenery.spawn_points)] @ Transform(x=0.5, z=1.0)
    signals = {site.signal_id: SignalColour.RED for site in scenery.signals}
    renderer = Renderer(scenery)
    made = []
    for text, weather in weathers:
        dark = weather.sun_altitude_angle < 0.0 or weather.precipitation > 0.0
        shown = actors(scenery, eye, int(LightState.LOW_BEAM | LightState.POSITION) if dark else 0)
        camera = CameraView(*SIZE_PX, 75.0, eye)
        picture = renderer.render(camera, shown, signals, weather, 3.0, rgb=True, depth=False, labels=False)
        assert picture.bgra is not None
        made.append(labelled(np.ascontiguousarray(picture.bgra[..., :3]), text))
    renderer.close()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path, help="the JPEG to write")
    args = parser.parse_args()
    images = view("city_grid", 40, CITY)
    for text, name, start in ROADS:
        images += view(name, start, ((text, DAY),))
    cv2.imwrite(str(args.file), tiled(images, 3), [cv2.IMWRITE_JPEG_QUALITY, 84])


if __name__ == "__main__":
    main()
