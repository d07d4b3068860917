"""Radar, LiDAR, depth and normals against the actors' true motion, known boxes and the pinhole's geometry."""

from __future__ import annotations

import carla
import numpy as np
import pytest

from embedded_carla.sensors.lidar import _faces
from embedded_carla.sensors.radar import RadarSpec, radar_rays
from tests.embedded_carla.sensors.sensor_rig import SIZE, Rig, ahead, bgra, depth_m, matrix, points

EVERYTHING = {"points_per_second": "40000", "horizontal_fov": "70", "vertical_fov": "30", "range": "80"}


def in_box(actor: carla.Actor, world: np.ndarray, margin_m: float) -> np.ndarray:
    """(N,) whether points (N, 4) lie in the actor's box, grown by `margin_m`."""
    box = actor.bounding_box
    local = world @ np.linalg.inv(matrix(actor.get_transform())).T
    middle = np.array([box.location.x, box.location.y, box.location.z])
    half = np.array([box.extent.x, box.extent.y, box.extent.z]) + margin_m
    inside: np.ndarray = (np.abs(local[:, :3] - middle) <= half).all(axis=1)
    return inside


def radar_points(measured: carla.RadarMeasurement) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """World points (N, 4), unit directions (N, 3) in the world, and velocities (N,)."""
    raw = np.frombuffer(measured.raw_data, np.float32).reshape(-1, 4).astype(np.float64)
    velocity, azimuth, altitude, distance = raw.T
    unit = np.stack([np.cos(altitude) * np.cos(azimuth), np.cos(altitude) * np.sin(azimuth), np.sin(altitude)], axis=1)
    pose = matrix(measured.transform)
    world = np.c_[unit * distance[:, None], np.ones(len(raw))] @ pose.T
    return world, unit @ pose[:3, :3].T, velocity


def test_radar_tells_place_and_radial_velocity(rig: Rig) -> None:
    start = rig.world.get_map().get_spawn_points()[40]
    own = rig.spawn("vehicle.tesla.model3", start)
    target = rig.spawn("vehicle.audi.tt", ahead(start, 14.0))
    radar = rig.mount("sensor.other.radar", carla.Transform(carla.Location(x=2.3, z=0.8)), own, **EVERYTHING)
    for _ in range(6):
        rig.world.tick()
    forward = start.get_forward_vector()
    own.set_target_velocity(forward * 9.0)
    target.set_target_velocity(forward * 4.0)
    for _ in range(4):
        rig.world.tick()
    for _ in range(10):
        measured = radar.next()
    world, unit, velocity = radar_points(measured)
    assert 1000 < len(velocity) <= 2000  # 40000 points/s for 0.05 s, some into the sky
    of_target = in_box(target, world, 0.05) & (world[:, 2] > target.get_location().z + 0.15)  # not the road below it
    assert of_target.sum() > 30
    v_own, v_target = (np.array([v.x, v.y, v.z]) for v in (own.get_velocity(), target.get_velocity()))
    assert np.abs(velocity[of_target] - unit[of_target] @ (v_target - v_own)).max() < 0.15
    assert velocity[of_target].mean() < -3.0  # negative: coming nearer
    ground = ~in_box(target, world, 0.5)
    assert np.abs(velocity[ground] + unit[ground] @ v_own).max() < 0.3
    raw = np.frombuffer(measured.raw_data, np.float32).reshape(-1, 4)
    assert np.degrees(np.abs(raw[:, 1])).max() <= 35.01
    assert np.degrees(np.abs(raw[:, 2])).max() <= 15.01
    assert raw[:, 3].max() <= 80.0


def test_radar_tells_little_of_a_crossing_car_and_nothing_of_a_hidden_one(rig: Rig) -> None:
    """A car that crosses has a velocity only along the ray; one behind a container has no returns."""
    start = rig.world.get_map().get_spawn_points()[40]
    turned = carla.Rotation(start.rotation.pitch, start.rotation.yaw + 90.0, start.rotation.roll)
    target = rig.spawn("vehicle.audi.tt", carla.Transform(ahead(start, 30.0, 0.0, 0.2).location, turned))
    radar = rig.mount("sensor.other.radar", ahead(start, 0.0, up_m=0.8), **EVERYTHING)
    for _ in range(6):
        rig.world.tick()
        radar.next()
    target.enable_constant_velocity(carla.Vector3D(x=-8.0))
    for _ in range(3):
        rig.world.tick()
        measured = radar.next()
    world, unit, velocity = radar_points(measured)
    moved = target.get_velocity()
    known = unit @ np.array([moved.x, moved.y, moved.z])
    of_target = in_box(target, world, 0.05) & (world[:, 2] > target.get_location().z + 0.15)
    assert of_target.sum() > 10
    assert np.abs(known[of_target]).max() < 1.5  # of 8 m/s
    assert np.abs(velocity - np.where(of_target, known, 0.0))[of_target | ~in_box(target, world, 0.5)].max() < 0.1

    before = ahead(start, 2.5).location
    before.z = target.get_location().z  # on the road: nothing shows below it
    rig.spawn("static.prop.container", carla.Transform(before, turned))
    rig.world.tick()
    world, _, _ = radar_points(radar.next())
    assert not in_box(target, world, 0.0).any()


def test_radar_measures_without_rendering(rig: Rig) -> None:
    """As in CARLA, whose radar casts rays into the collision shapes."""
    settings = rig.world.get_settings()
    settings.no_rendering_mode = True
    rig.world.apply_settings(settings)
    try:
        up = ahead(rig.world.get_map().get_spawn_points()[40], 0.0, up_m=1.5)
        radar = rig.mount("sensor.other.radar", up, **EVERYTHING)
        rig.world.tick()
        assert len(radar.next()) > 1000
    finally:
        settings.no_rendering_mode = False
        rig.world.apply_settings(settings)


@pytest.mark.parametrize(("fov_deg", "pictures"), [("88", 1), ("150", 2)])
def test_wide_rays_are_looked_up_in_few_pictures(fov_deg: str, pictures: int) -> None:
    """Each ray lies in the picture that it is looked up in."""
    rays = radar_rays(RadarSpec(float(fov_deg), 6.0, 40000), 0.05, np.random.default_rng(1))
    faces, of_ray = _faces(rays)
    assert len(np.unique(of_ray)) == pictures
    for number in np.unique(of_ray):
        turn, half_width = faces[number]
        local = rays[of_ray == number] @ turn.matrix()[:3, :3]
        assert (local[:, 0] > 0.0).all()
        assert np.abs(local[:, 1] / local[:, 0]).max() <= half_width + 1e-9


def test_radar_azimuth_grows_to_the_right_and_altitude_up(rig: Rig) -> None:
    start = ahead(rig.world.get_map().get_spawn_points()[40], 0.0, up_m=30.0)  # nothing else is up here
    radar = rig.mount("sensor.other.radar", start, **EVERYTHING)
    prop = rig.spawn("static.prop.container", ahead(start, 12.0, 3.0, -2.2))
    rig.world.tick()
    world, _, _ = radar_points(radar.next())
    raw = None
    for _ in range(2):
        rig.world.tick()
        measured = radar.next()
        world, _, _ = radar_points(measured)
        raw = np.frombuffer(measured.raw_data, np.float32).reshape(-1, 4)[in_box(prop, world, 0.3)]
    assert raw is not None
    assert len(raw) > 10
    assert raw[:, 1].mean() > 0.1
    assert raw[:, 2].mean() < -0.05


def test_semantic_lidar_hits_lie_on_the_boxes_of_what_they_name(rig: Rig) -> None:
    start = rig.world.get_map().get_spawn_points()[40]
    target = rig.spawn("vehicle.audi.tt", ahead(start, 9.0))
    lidar = rig.mount(
        "sensor.lidar.ray_cast_semantic", ahead(start, 0.0, up_m=1.5), channels="32", points_per_second="320000",
        range="40", rotation_frequency="20", upper_fov="5", lower_fov="-25",
    )  # fmt: skip
    for _ in range(5):
        rig.world.tick()
        measured = lidar.next()
    assert (measured.channels, sum(measured.get_point_count(c) for c in range(32))) == (32, len(measured))
    assert measured.get_point_count(31) == 500  # 320000 / (20 Hz * 32); the lowest beam meets ground all around
    layout = [("p", "<f4", 3), ("cos", "<f4"), ("id", "<u4"), ("tag", "<u4")]
    raw = np.frombuffer(measured.raw_data, layout)
    world = np.c_[raw["p"].astype(np.float64), np.ones(len(raw))] @ matrix(measured.transform).T
    mine = raw["id"] == target.id
    assert mine.sum() > 40
    assert set(raw["tag"][mine].tolist()) == {14}
    assert in_box(target, world[mine], 0.12).mean() > 0.99  # a hit at an outline may fall half a pixel beside it
    assert not in_box(target, world[~mine & (raw["tag"] != 1)], -0.1).any()
    road = raw["tag"] == 1
    straight = -raw["p"][road, 2] / np.linalg.norm(raw["p"][road], axis=1)  # the road is level here
    assert np.median(np.abs(raw["cos"][road] - straight)) < 0.01
    assert ((raw["cos"] >= 0.0) & (raw["cos"] <= 1.001)).all()


def test_ranges_in_centimetres_are_far_ones(rig: Rig) -> None:
    """CARLA's first programs, and environments made of them, ask for a range of 5000."""
    start = rig.world.get_map().get_spawn_points()[40]
    own = rig.spawn("vehicle.tesla.model3", start)
    target = rig.spawn("vehicle.audi.tt", ahead(start, 14.0))
    up = carla.Transform(carla.Location(x=2.3, z=0.8))
    lidar = rig.mount("sensor.lidar.ray_cast", up, own, range="5000", points_per_second="100000")
    radar = rig.mount("sensor.other.radar", up, own, range="5000", points_per_second="20000")
    rig.world.tick()
    for _ in range(3):
        rig.world.tick()
        scan, echoes = lidar.next(), radar.next()
        own_frame = np.frombuffer(scan.raw_data, np.float32).reshape(-1, 4)[:, :3].astype(np.float64)
        world = np.c_[own_frame, np.ones(len(own_frame))] @ matrix(scan.transform).T
        if in_box(target, world, 0.1).sum() > 5:
            break
    assert in_box(target, world, 0.1).sum() > 5
    assert in_box(target, radar_points(echoes)[0], 0.1).sum() > 5
    assert np.linalg.norm(own_frame, axis=1).max() <= 1000.0


def test_depth_agrees_with_ray_casts(rig: Rig) -> None:
    eye = ahead(rig.world.get_map().get_spawn_points()[40], 0.0, up_m=1.5)
    camera = rig.mount("sensor.camera.depth", eye, **SIZE)
    rig.world.tick()
    far = depth_m(camera.next())
    seen = points(far) @ matrix(eye).T
    errors = []
    for row, column in ((60, 40), (60, 80), (60, 120), (75, 30), (75, 80), (85, 60), (85, 100), (80, 20), (70, 95)):
        if far[row, column] > 900.0:
            continue
        x, y, z = seen[row, column, :3]
        way = carla.Vector3D(x - eye.location.x, y - eye.location.y, z - eye.location.z)
        hit = rig.world.project_point(eye.location, way, 200.0)
        assert hit is not None
        errors.append(hit.location.distance(carla.Location(x, y, z)) / far[row, column])
    assert len(errors) >= 8
    assert np.median(errors) < 0.01
    assert sum(e < 0.03 for e in errors) >= len(errors) - 1


def test_normals_are_those_of_the_surfaces_seen(rig: Rig) -> None:
    eye = ahead(rig.world.get_map().get_spawn_points()[40], 0.0, up_m=1.5)
    normals, depth, semantic = (
        rig.mount(f"sensor.camera.{kind}", eye, **SIZE) for kind in ("normals", "depth", "semantic_segmentation")
    )
    rig.world.tick()
    raw, far, tag = bgra(normals.next()), depth_m(depth.next()), bgra(semantic.next())[..., 2]
    told = raw[..., 2::-1] / 127.5 - 1.0  # R, G, B are x, y, z of the world
    assert np.abs(np.linalg.norm(told, axis=-1)[tag != 11] - 1.0).max() < 0.02
    assert (raw[tag == 11][:, :3] == 128).all()
    assert np.abs(told[tag == 1] - [0.0, 0.0, 1.0]).max() < 0.05  # the road is level here
    seen = (points(far) @ matrix(eye).T)[..., :3]
    across, down = seen[1:-1, 2:] - seen[1:-1, :-2], seen[2:, 1:-1] - seen[:-2, 1:-1]
    geometry = np.cross(down, across)
    geometry /= np.linalg.norm(geometry, axis=-1, keepdims=True)
    ways = np.stack([tag[1:-1, 2:], tag[1:-1, :-2], tag[2:, 1:-1], tag[:-2, 1:-1]])
    inside = (ways == 3).all(axis=0) & (tag[1:-1, 1:-1] == 3)  # within façades
    agreement = np.abs((told[1:-1, 1:-1] * geometry).sum(axis=-1))[inside]
    assert inside.sum() > 100
    assert np.median(agreement) > 0.99
    towards_eye = (told * (np.array([eye.location.x, eye.location.y, eye.location.z]) - seen)).sum(axis=-1)
    assert (towards_eye[tag != 11] > 0.0).mean() > 0.98
