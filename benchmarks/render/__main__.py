"""Speed of the embedded server's renderer: one JSON object on standard output, and in a file with `--out`.

    python -m benchmarks.render [--map city_grid] [--frames 60] [--sizes 640x360 1280x720] [--vehicles 60] [--out FILE]
    python -m benchmarks.render --views drive [--rounds 3] [--out FILE]

First through the real wheel: a client that waits for each picture of its tick (`per_s`: sets of pictures per second).
Then the renderer alone, in a town with vehicles and 20 walkers in front of the camera, by weather:

- `fps`: from the median time of a picture read into numpy; `best_ms`: time of the fastest picture
- `cpu_ms`: processor time of all cores, on which other load of the machine has less influence
- `python_ms`: processor time of the calling thread with all GL calls left out
- `triangles`: of the last picture
- `stages_ms`: time of the calling thread by stage; in `wait` it waits for the GL, in `read` it fetches the picture
- `awaited_ms`: the same when each stage waits for the GL; `gl_ms`: the part of it in which the GL works

With `--views drive` the renderer alone, from 40 places along the route of town_drive (drive.py).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Container, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import moderngl
import numpy as np
from numpy.typing import NDArray

from benchmarks.render import client, drive
from embedded_carla.maps import MapLibrary
from embedded_carla.opendrive import parse
from embedded_carla.render import Renderer, Shot
from embedded_carla.scene import ActorView, CameraView, Scenery
from embedded_carla.scenery import build
from embedded_carla.sensors.lidar import LidarScanner, LidarSpec
from embedded_carla.types import SemanticTag, SignalColour, Transform, WeatherParameters

DAY = WeatherParameters(cloudiness=20, sun_azimuth_angle=40, sun_altitude_angle=50, mie_scattering_scale=0.03)
WEATHERS = {
    "day": DAY,
    "rain": replace(DAY, cloudiness=90, precipitation=80, precipitation_deposits=60, wetness=80, fog_density=10),
    "fog": replace(DAY, fog_density=50, fog_falloff=0.5),
    "night": replace(DAY, sun_altitude_angle=-40),
}
STAGES = ("prepare", "shadow", "mirror", "scene", "finish", "read")
Stage = tuple[dict[str, float], ...]
SHAPES = (
    ("sedan", (2.35, 0.95, 0.72), SemanticTag.CAR),
    ("suv", (2.4, 1.0, 0.88), SemanticTag.CAR),
    ("van", (2.9, 1.05, 1.2), SemanticTag.TRUCK),
    ("bus", (5.1, 1.25, 1.7), SemanticTag.BUS),
    ("bicycle", (0.85, 0.3, 0.85), SemanticTag.BICYCLE),
)


def ahead(scenery: Scenery, eye: Transform, points: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Indices of the `count` nearest of `points` (N, 3) in front of `eye`."""
    rel = points - np.array(eye.location)
    forward = rel @ eye.matrix()[:3, 0]
    distance = np.where(forward > 4.0, np.linalg.norm(rel, axis=1), 1e9)
    return np.argsort(distance, kind="stable")[:count]


def traffic(scenery: Scenery, eye: Transform, count: int = 30) -> list[ActorView]:
    """`count` vehicles on spawn points ahead and, if the map has pavements, 20 walkers ahead."""
    starts = scenery.spawn_points
    made = []
    for k in ahead(scenery, eye, np.array([p.location for p in starts]), count):
        shape, extent, tag = SHAPES[k % len(SHAPES)]
        pose = replace(starts[k], z=starts[k].z - 0.5)
        made.append(ActorView(100 + int(k), shape, pose, extent, (0.4, 0.1, 0.1), tag, 3, 0.1, 1.0, int(k)))
    paths = np.concatenate([np.zeros((0, 3)), *(np.asarray(w)[::4] for w in scenery.walkways)])
    for k in ahead(scenery, eye, paths, 20):
        x, y, z = (float(c) for c in paths[k])
        pose = Transform(x, y, z, 0.0, 40.0 * (k % 9))
        made.append(
            ActorView(900 + int(k), "walker", pose, (0.22, 0.25, 0.9), (0.2, 0.3, 0.5), SemanticTag.PEDESTRIANS)
        )
    return made


def timed(draw: Callable[[int], object], frames: int) -> dict[str, float]:
    """Median rate, best time and processor time (over all cores) of `draw`, after three warm-up calls."""
    for k in range(3):
        draw(k)
    times = []
    spent = time.process_time()
    for k in range(frames):
        start = time.perf_counter()
        draw(k)
        times.append(time.perf_counter() - start)
    spent = (time.process_time() - spent) / frames
    return {
        "fps": round(1.0 / float(np.median(times)), 1),
        "best_ms": round(1e3 * min(times), 2),
        "cpu_ms": round(1e3 * spent, 2),
    }


def stages_ms(renderer: Renderer, draw: Callable[[int], object], frames: int, awaited: Container[str]) -> Stage:
    """Time per picture by stage, ms: of this thread, and of the GL for the stages in `awaited`.

    The end of each awaited stage is waited for, so that the stages add up to more than a picture.
    """
    stages = renderer.stages
    stages.spent_s.clear()
    stages.gl_s.clear()
    stages.on, stages.awaited = True, awaited
    for k in range(frames):
        draw(k)
    stages.on = False
    return tuple({n: round(1e3 * s / frames, 3) for n, s in spent.items()} for spent in (stages.spent_s, stages.gl_s))


def python_ms(draw: Callable[[int], object], frames: int) -> float:
    """Processor time of this thread per picture, ms, with all GL calls that draw, clear or read left out."""
    gone = {moderngl.VertexArray: ("render", "render_indirect"), moderngl.Framebuffer: ("clear", "read_into")}
    with ExitStack() as left_out:
        for owner, names in gone.items():
            for name in names:
                left_out.enter_context(patch.object(owner, name, lambda *_, **__: None))
        began = time.thread_time()
        for k in range(frames):
            draw(k)
        return round(1e3 * (time.thread_time() - began) / frames, 2)


def figures_of(renderer: Renderer, draw: Callable[[int], object], frames: int) -> dict[str, object]:
    """All figures of one kind of picture."""
    result: dict[str, object] = {**timed(draw, frames)}
    result["triangles"] = renderer.triangles()
    few = max(frames // 3, 5)
    result["stages_ms"], _ = stages_ms(renderer, draw, few, ("wait",))
    result["awaited_ms"], result["gl_ms"] = stages_ms(renderer, draw, few, STAGES)
    result["python_ms"] = python_ms(draw, frames)
    return result


def measure(
    renderer: Renderer, eye: Transform, actors: Sequence[ActorView], size: tuple[int, int], frames: int
) -> dict[str, object]:
    """Figures of the renderer alone at one size."""
    lights = dict.fromkeys("0123456789", SignalColour.RED)
    front = CameraView(*size, 90.0, eye)
    rig = [replace(front, transform=eye @ Transform(yaw_deg=yaw)) for yaw in (0.0, 90.0, 180.0, 270.0)]

    def draw(view: CameraView, weather: WeatherParameters, every: bool, k: int) -> object:
        return renderer.render(view, actors, lights, weather, 0.05 * k, rgb=True, depth=every, labels=every)

    result: dict[str, object] = {}
    for name, weather in WEATHERS.items():
        rgb, every = (lambda k, w=weather, e=e: draw(front, w, e, k) for e in (False, True))
        result[f"rgb_{name}"] = figures_of(renderer, rgb, frames)
        result[f"all_{name}"] = timed(every, frames)
    shots = [Shot(view, actors, rgb=True) for view in rig]
    result["rgb_4_cameras"] = timed(lambda k: list(renderer.render_all(shots, lights, DAY, 0.05 * k)), frames // 3)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.render", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--map", default="city_grid")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--sizes", nargs="+", default=["640x360"], metavar="WIDTHxHEIGHT")
    parser.add_argument("--vehicles", type=int, default=60)
    parser.add_argument("--views", choices=("town", "drive"), default="town", help="what is drawn (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="over the views of the drive (%(default)s)")
    parser.add_argument("--out", type=Path, help="a file for the JSON as well")
    args = parser.parse_args()
    sizes = [(int(w), int(h)) for w, h in (size.split("x") for size in args.sizes)]
    name, text = MapLibrary([]).load_text(args.map if args.views == "town" else drive.MAP)
    scenery = build(parse(text, name))
    figures = _of_drive(args, scenery, sizes) if args.views == "drive" else _of_town(args, name, scenery, sizes)
    written = json.dumps(figures, indent=2)
    print(written)
    if args.out is not None:
        args.out.write_text(written + "\n")


def _of_drive(args: argparse.Namespace, scenery: Scenery, sizes: Sequence[tuple[int, int]]) -> dict[str, object]:
    return {
        f"{width}x{height}": drive.measure(scenery, WEATHERS, (width, height), args.rounds) for width, height in sizes
    }


def _of_town(
    args: argparse.Namespace, name: str, scenery: Scenery, sizes: Sequence[tuple[int, int]]
) -> dict[str, object]:
    start = scenery.spawn_points[40 % len(scenery.spawn_points)]
    eye = start @ Transform(x=0.5, z=1.0)
    actors = traffic(scenery, eye, args.vehicles)
    figures: dict[str, object] = {"map": name, "vehicles": args.vehicles}
    figures["client"] = client.measure(args.map, sizes, args.vehicles, args.frames)
    began = time.perf_counter()
    renderer = Renderer(scenery)
    figures |= {"gl_renderer": renderer.gl_renderer, "load_s": round(time.perf_counter() - began, 2)}
    for width, height in sizes:
        figures[f"{width}x{height}"] = measure(renderer, eye, actors, (width, height), args.frames)
    lidar = LidarScanner(LidarSpec(64, 85.0, 600_000, 20.0))
    figures["lidar_64_channels"] = timed(
        lambda k: lidar.body(renderer, eye, actors, {}, 0.05 * k, 0.05), args.frames // 3
    )
    renderer.close()
    return figures


if __name__ == "__main__":
    main()
