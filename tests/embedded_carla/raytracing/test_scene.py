"""What rays meet in a small scene of known shapes, and in towns compared with fine depth pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.loader import MapLoader
from embedded_carla.raytracing.scene import Hits, RayScene
from embedded_carla.raytracing.still import StillScene
from embedded_carla.render import Renderer
from embedded_carla.render.warm_up import scenery as small_scenery
from embedded_carla.scene import MOST_INSTANCES, ActorView, Scenery
from embedded_carla.sensors import lidar
from embedded_carla.sensors.radar import RadarSpec, radar_rays
from embedded_carla.types import SemanticTag, Transform

SCENERY = -1
POLE_AT, POLE_M = np.array([20.0, -6.0]), 0.1  # radius
NOWHERE_M = 200.0  # stands for no hit, beyond the range
EYE = np.array([0.0, 0.0, 1.0])
NONE = np.zeros(0, dtype=np.bool_)


def without(scenery: Scenery, placements: tuple[int, ...] = (), meshes: tuple[int, ...] = ()) -> StillScene:
    return StillScene.of(
        scenery,
        np.isin(np.arange(len(scenery.placements)), placements),
        np.isin(np.arange(len(scenery.meshes)), meshes),
    )


def car(actor_id: int, pose: Transform, model: str = "vehicle.tesla.model3") -> ActorView:
    spec = next(b.vehicle for b in vehicle_blueprints() if b.type_id == model)
    assert spec is not None
    colour = (0.4, 0.4, 0.4)
    return ActorView(actor_id, spec.shape, pose, spec.extent, colour, SemanticTag.CAR, model=model, seed=actor_id)


def towards(scene: RayScene, point: np.ndarray, range_m: float = 100.0, ignored: tuple[int, ...] = ()) -> Hits:
    way = (point - EYE) / np.linalg.norm(point - EYE)
    return scene.cast(EYE, way[None], range_m, ignored)


def test_the_nearest_of_pole_cars_and_building_is_hit() -> None:
    scenery = small_scenery()
    scene = RayScene(without(scenery))
    pole = np.append(POLE_AT, 1.0)
    far = float(np.linalg.norm(pole - EYE))
    assert towards(scene, pole).distance_m == pytest.approx(far - POLE_M, abs=0.02)
    assert towards(scene, pole, range_m=far - 1.0).distance_m == np.inf

    behind, before = car(7, Transform(40.0, -12.0)), car(9, Transform(10.0, -3.0))
    scene.place([behind])
    assert towards(scene, pole).actor == [SCENERY]  # the pole hides the car
    scene.place([behind, before])
    hit = towards(scene, pole)
    assert hit.actor == [1]
    assert 7.0 < hit.distance_m[0] < 11.0
    assert towards(scene, pole, ignored=(9,)).distance_m == pytest.approx(far - POLE_M, abs=0.02)

    scene.still = without(scenery, placements=(0,))
    hit = towards(scene, pole, ignored=(9,))
    assert hit.actor == [0]
    assert 38.0 < hit.distance_m[0] < 44.0


def test_the_ground_is_hit_from_above_and_below_unless_hidden() -> None:
    scenery = small_scenery()
    road = scenery.meshes[0].vertices.mean(axis=0).astype(np.float64)
    scene = RayScene(without(scenery))
    above = np.array([0.0, 0.0, 1.5])
    down, up = np.array([[0.0, 0.0, -1.0]]), np.array([[0.0, 0.0, 1.0]])
    assert scene.cast(road + above, down, 10.0).distance_m == pytest.approx(1.5)
    assert scene.cast(road - above, up, 10.0).distance_m == pytest.approx(1.5)
    scene.still = without(scenery, meshes=(0,))
    assert scene.cast(road + above, down, 10.0).distance_m == np.inf


def test_a_car_is_hit_on_its_surface_and_not_from_within() -> None:
    scene = RayScene(without(small_scenery()))
    own = car(7, Transform(0.0, 0.0, 0.0))
    scene.place([own, car(9, Transform(0.0, 20.0, 0.0, yaw_deg=90.0))])
    length, width, _ = own.extent
    forward, right = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0]])
    start = np.array([0.0, 0.0, 0.6])
    hit = scene.cast(start, right, 50.0)
    assert hit.actor == [1]
    assert hit.distance_m == pytest.approx(20.0 - length, abs=0.1)
    scene.place([own])
    outside = scene.cast(np.array([-10.0, 0.0, 0.6]), forward, 50.0)
    assert outside.distance_m == pytest.approx(10.0 - length, abs=0.1)
    beside = scene.cast(np.array([0.0, -10.0, 0.6]), right, 50.0)
    assert beside.distance_m == pytest.approx(10.0 - width, abs=0.15)
    over = scene.cast(np.array([-10.0, 0.0, 1.3]), forward, 50.0)  # the bonnet is lower than the box
    assert over.distance_m[0] > 10.0 - length + 1.0


def test_rays_into_an_empty_world_hit_nothing_but_actors() -> None:
    scene = RayScene(StillScene.of(replace(small_scenery(), placements=(), meshes=()), NONE, NONE))
    forward = np.array([1.0, 0.0, 0.0])
    assert towards(scene, EYE + forward).distance_m == np.inf
    scene.place([car(7, Transform(20.0))])
    assert towards(scene, EYE + forward).actor == [0]
    assert towards(scene, EYE - forward).distance_m == np.inf


@pytest.mark.parametrize(("town", "seed"), [("city_grid", 1), ("city_grid", 2), ("country_road", 3)])
def test_rays_agree_with_fine_depth_pictures(town: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depth pictures of 0.02 degrees a pixel show the finest level of detail.

    Rays that differ pass within such a pixel of an outline, skim the ground, or go through gaps between leaves, which
    only pictures have.
    """
    monkeypatch.setattr(lidar, "FACE_WIDTH_PX", 4096)
    scenery = MapLoader(MapLibrary(), 0).load(town).scenery
    rng = np.random.default_rng(seed)
    places = scenery.spawn_points
    ego = places[int(rng.integers(len(places)))]
    near = sorted(places, key=lambda p: float(np.hypot(p.x - ego.x, p.y - ego.y)))[1:25]
    models = [b.type_id for b in vehicle_blueprints()]
    actors = [
        car(10 + i, Transform(p.x, p.y, p.z - 0.3, 0.0, p.yaw_deg), models[int(rng.integers(len(models)))])
        for i, p in enumerate(near)
    ]
    for i, p in enumerate(near[:8]):
        at = p @ Transform(y=3.5)
        look = Transform(at.x, at.y, at.z - 0.3, 0.0, at.yaw_deg)
        actors.append(ActorView(90 + i, "walker", look, (0.2, 0.2, 0.9), (0, 0, 0), SemanticTag.PEDESTRIANS, seed=i))
    pose = ego @ Transform(2.6, 0.95, 0.3, 0.0, 75.0)
    rays = radar_rays(RadarSpec(150.0, 6.0), 1.0, rng)

    scene = RayScene(without(scenery))
    scene.place(actors)
    hits = scene.cast(np.array(pose.location), rays @ pose.matrix()[:3, :3].T, 100.0)
    renderer = Renderer(scenery)
    try:
        drawn = lidar.cast(renderer, pose, actors, {}, 0.0, rays, np.arange(len(rays)), 100.0)
    finally:
        renderer.close()
    drawn_m, instance, tag = np.full(len(rays), NOWHERE_M), np.zeros(len(rays)), np.zeros(len(rays))
    drawn_m[drawn.channel], instance[drawn.channel] = drawn.distance_m, drawn.instance
    tag[drawn.channel] = drawn.tag

    found_m = np.minimum(hits.distance_m, NOWHERE_M)
    same = np.abs(found_m - drawn_m) <= 0.05 + 0.01 * drawn_m
    solid = tag != SemanticTag.VEGETATION
    if town == "country_road":
        solid &= drawn_m < NOWHERE_M  # through the gaps between leaves, pictures show the sky
    assert same[solid].mean() >= 0.97
    numbers = np.array([*(a.instance for a in actors), 0])
    assert (numbers[hits.actor] == np.where(instance <= MOST_INSTANCES, instance, 0)).mean() >= 0.99
    assert (hits.actor != SCENERY).sum() > 20
