"""What stands behind buildings is left out, and nobody can tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_carla.maps import MapLibrary
from embedded_carla.maps.loader import MapLoader
from embedded_carla.render import Picture, Renderer
from embedded_carla.render.culling.occlusion import NO_HORIZON, Occluders, find_hidden
from embedded_carla.render.frame import Camera
from embedded_carla.scene import ActorView, CameraView, Scenery
from embedded_carla.types import SemanticTag, Transform, WeatherParameters


@pytest.fixture(scope="module")
def town() -> Scenery:
    return MapLoader(MapLibrary([]), 0).load("city_grid").scenery


@pytest.fixture(scope="module")
def renderer(town: Scenery) -> Iterator[Renderer]:
    made = Renderer(town)
    yield made
    made.close()


def _view(town: Scenery, rng: np.random.Generator) -> CameraView:
    start = town.spawn_points[int(rng.integers(len(town.spawn_points)))]
    turn = Transform(z=float(rng.choice([0.8, 1.2, 4.0, 12.0])), pitch_deg=float(rng.uniform(-20.0, 10.0)))
    turn = turn @ Transform(yaw_deg=float(rng.uniform(-180.0, 180.0)), roll_deg=float(rng.uniform(-5.0, 5.0)))
    return CameraView(320, 180, float(rng.choice([40.0, 60.0, 100.0])), start @ turn)


def _picture(renderer: Renderer, view: CameraView, cars: list[ActorView]) -> Picture:
    air = WeatherParameters(sun_altitude_angle=45.0)
    return renderer.render(view, cars, {}, air, 0.0, rgb=True, depth=True, labels=True)


def test_pictures_are_the_same_to_the_byte(town: Scenery, renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    cars = [
        ActorView(100 + i, "sedan", start, (2.3, 0.95, 0.75), (0.4, 0.1, 0.1), SemanticTag.CAR)
        for i, start in enumerate(town.spawn_points[:60])
    ]
    drawn = {"some": 0, "all": 0}
    for _ in range(16):
        view = _view(town, rng)
        a = _picture(renderer, view, cars)
        drawn["some"] += renderer.triangles()["ground"]
        with monkeypatch.context() as patch:
            patch.setattr(Occluders, "horizon", lambda *_: NO_HORIZON)
            b = _picture(renderer, view, cars)
        drawn["all"] += renderer.triangles()["ground"]
        for name in ("bgra", "depth_m", "tag", "instance"):
            assert np.array_equal(getattr(a, name), getattr(b, name))
    assert drawn["some"] < 0.6 * drawn["all"]


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_all_of_what_is_hidden_lies_behind_a_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 12
    yaw, size = rng.uniform(-180.0, 180.0, n), rng.uniform(6.0, 30.0, (n, 3))
    place = rng.uniform(-60.0, 60.0, (n, 2)).tolist()
    poses = np.stack([Transform(x, y, yaw_deg=float(a)).matrix() for (x, y), a in zip(place, yaw, strict=True)])
    occluders = Occluders.of(["building plain"] * n, poses, size)
    eye = Transform(0.0, 0.0, float(rng.uniform(0.5, 10.0)))
    camera = Camera.of(CameraView(640, 360, 90.0, eye))
    middle, half = rng.uniform((5.0, -90.0, 0.0), (120.0, 90.0, 20.0), (60, 3)), rng.uniform(0.2, 8.0, (60, 3))
    low, high = middle - half, middle + half
    bounds = np.stack([low[:, 0], high[:, 0], low[:, 1], high[:, 1], high[:, 2]], axis=1)
    hidden = np.zeros(60, dtype=np.bool_)
    find_hidden(camera.row(), occluders.horizon(camera, np.ones(n, dtype=np.bool_)), bounds, hidden)
    for k in np.flatnonzero(hidden):
        points = rng.uniform(low[k], high[k], (12, 3))
        corners = np.array([[x, y, high[k, 2]] for x in (low[k, 0], high[k, 0]) for y in (low[k, 1], high[k, 1])])
        assert _are_behind(occluders.boxes, camera.eye, np.concatenate([points, corners])).all()


def _are_behind(boxes: np.ndarray, eye: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Whether the way from `eye` to each of the points goes through a box, however deep it reaches below its top."""
    x, y, c, s, along, across, _, top = np.array(boxes.tolist()).T
    start, way = (
        np.stack([c * v[..., 0] + s * v[..., 1], c * v[..., 1] - s * v[..., 0]])
        for v in (eye[:2] - np.stack([x, y], axis=-1)[None], points[:, None, :2] - eye[:2])
    )
    half = np.stack([along, across])[:, None]
    near, far = np.sort(np.stack([(-half - start) / way, (half - start) / way]), axis=0)
    first, last = np.maximum(near.max(axis=0), 0.0), np.minimum(far.min(axis=0), 1.0)
    rise = points[:, None, 2] - eye[2]
    lowest = eye[2] + np.minimum(first * rise, last * rise)
    found: np.ndarray = ((first < last) & (lowest <= top)).any(axis=1)
    return found
