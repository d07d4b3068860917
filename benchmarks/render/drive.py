"""Rendering time on the views of a drive: 40 views along the route of town_drive, with its vehicles and walkers."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embedded_carla.render import Renderer
from embedded_carla.scene import ActorView, CameraView, Scenery
from embedded_carla.types import SemanticTag, Transform, WeatherParameters

MAP = "city_grid"
FILE = Path(__file__).with_name("town_drive_views.json")
"""The recorded views, from a drive with seed 1, every 5 s.

`actors`, by number: shape, half size m, colour, tag, seed, model. `views`: the camera's x, y, z, pitch, yaw, and for
each actor x, y, z, pitch, yaw, steer rad, phase rad, speed m/s, lights.
"""


@dataclass(frozen=True, slots=True)
class View:
    """Camera, actors and time of one picture of the drive."""

    camera: CameraView
    actors: tuple[ActorView, ...]
    time_s: float


def views(size: tuple[int, int]) -> tuple[list[View], WeatherParameters]:
    """All views, with pictures of `size` pixels, and the weather of the drive."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    made = []
    for view in data["views"]:
        x, y, z, pitch, yaw = view["camera"]
        camera = CameraView(*size, data["fov_deg"], Transform(x, y, z, pitch, yaw))
        actors = tuple(_actor(int(i), data["actors"][i], state) for i, state in view["actors"].items())
        made.append(View(camera, actors, view["time_s"]))
    return made, WeatherParameters(**data["weather"])


def _actor(number: int, kept: Sequence[Any], state: Sequence[float]) -> ActorView:
    shape, extent, colour, tag, seed, model = kept
    x, y, z, pitch, yaw, steer, phase, speed, lights = state
    return ActorView(
        number, shape, Transform(x, y, z, pitch, yaw), tuple(extent), tuple(colour), SemanticTag(tag), int(lights),
        steer, phase, seed, model=model, speed_mps=speed,
    )  # fmt: skip


def measure(
    scenery: Scenery, weathers: Mapping[str, WeatherParameters], size: tuple[int, int], rounds: int
) -> dict[str, object]:
    """Figures of RGB pictures by weather, where "drive" is the weather of the drive itself.

    Wall time, processor time of all threads and of the calling thread, ms: for each view the minimum over `rounds`,
    then the mean over the views. Mean number of triangles, "standing" for the picture, its mirror pass (if there are
    puddles) and moving shadows, and "ground". Each view is drawn twice and the second drawing counts: shadows of
    standing objects are kept from picture to picture, and in a drive pictures follow each other closely.
    """
    made, own = views(size)
    renderer = Renderer(scenery)
    result: dict[str, object] = {"views": len(made)}
    for name, weather in {"drive": own, **weathers}.items():
        least = np.full((len(made), 3), np.inf)
        triangles: dict[str, list[int]] = {"standing": [], "ground": []}
        for _ in range(rounds):
            for k, view in enumerate(made):
                draw(renderer, view, weather)
                least[k] = np.minimum(least[k], draw(renderer, view, weather))
        for view in made:
            draw(renderer, view, weather)
            draw(renderer, view, weather)
            for kind, count in renderer.triangles().items():
                triangles[kind].append(count)
        wall, cpu, thread = least.mean(axis=0).round(2).tolist()
        mean = {kind: round(float(np.mean(counts))) for kind, counts in triangles.items()}
        result[name] = {"wall_ms": wall, "cpu_ms": cpu, "thread_ms": thread, "triangles": mean}
    renderer.close()
    return result


def draw(renderer: Renderer, view: View, weather: WeatherParameters) -> tuple[float, float, float]:
    """Draw a view; returns wall time, processor time of all threads and of this thread, ms."""
    began = time.perf_counter(), time.process_time(), time.thread_time()
    renderer.render(view.camera, view.actors, {}, weather, view.time_s, rgb=True, depth=False, labels=False)
    ended = time.perf_counter(), time.process_time(), time.thread_time()
    wall, cpu, thread = (1e3 * (b - a) for a, b in zip(began, ended, strict=True))
    return wall, cpu, thread
