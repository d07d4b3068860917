"""Optical flow against the pinhole, events against the rgb pictures, motion blur along the flow."""

from __future__ import annotations

import carla
import numpy as np

from tests.embedded_carla.sensors.sensor_rig import (
    HEIGHT,
    SIZE,
    WIDTH,
    Rig,
    ahead,
    bgra,
    depth_m,
    matrix,
    pixels,
    points,
)


def flow_px(image: carla.OpticalFlowImage) -> np.ndarray:
    """(H, W, 2) pixels to the right and down, converted as users of CARLA do."""
    raw = np.frombuffer(image.raw_data, np.float32).reshape(image.height, image.width, 2)
    return raw * [image.width / 2.0, -image.height / 2.0]


def test_flow_of_a_still_town_is_the_camera_s_own_motion(rig: Rig) -> None:
    start = ahead(rig.world.get_map().get_spawn_points()[40], 0.0, up_m=1.2)
    flow = rig.mount("sensor.camera.optical_flow", start, **SIZE)
    depth = rig.mount("sensor.camera.depth", start, **SIZE)
    rig.world.tick()
    assert np.abs(flow_px(flow.next())).max() < 1e-4  # nothing has moved yet
    depth.next()
    moved = carla.Transform(ahead(start, 0.6, 0.1, 0.05).location, start.rotation)
    moved.rotation.yaw += 1.5
    moved.rotation.pitch += 0.7
    moved.rotation.roll += 0.5
    for camera in (flow, depth):
        camera.actor.set_transform(moved)
    rig.world.tick()
    image, far = flow.next(), depth_m(depth.next())
    before, now = matrix(start), matrix(image.transform)
    earlier = pixels(points(far) @ (np.linalg.inv(before) @ now).T, WIDTH, HEIGHT)
    u, v = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    expected = np.stack([u, v], axis=-1) - earlier
    solid = (far < 900.0) & (np.abs(expected) < 60.0).all(axis=-1)
    error = np.abs(flow_px(image) - expected)[solid]
    assert solid.mean() > 0.5
    assert error.max() < 0.02
    sky = far > 999.0
    assert sky.any()
    assert np.ptp(flow_px(image)[sky], axis=0).max() < 5.0  # turns with the camera, does not stream past
    assert np.abs(flow_px(image)[sky]).min(axis=0).max() > 0.3


def test_flow_of_a_car_is_the_car_s_own_motion(rig: Rig) -> None:
    start = rig.world.get_map().get_spawn_points()[40]
    car = rig.spawn("vehicle.tesla.model3", ahead(start, 6.5))
    eye = ahead(start, 0.0, up_m=1.2)
    depth, flow, labels = (
        rig.mount(f"sensor.camera.{kind}", eye, **SIZE) for kind in ("depth", "optical_flow", "instance_segmentation")
    )
    for _ in range(5):
        rig.world.tick()
    way = eye.get_forward_vector() * 12.0
    car.set_target_velocity(way)
    poses = []
    for _ in range(6):
        rig.world.tick()
        poses.append(matrix(car.get_transform()))
    for _ in range(11):
        far, moved, seen = depth_m(depth.next()), flow_px(flow.next()), bgra(labels.next())
    body = seen[..., 1].astype(int) + 256 * seen[..., 0].astype(int) == car.id & 0xFFFF
    assert body.sum() > 100
    camera = matrix(eye)
    back = np.linalg.inv(camera) @ poses[-2] @ np.linalg.inv(poses[-1]) @ camera
    earlier = pixels(points(far) @ back.T, WIDTH, HEIGHT)
    u, v = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    expected = np.stack([u, v], axis=-1) - earlier
    assert np.linalg.norm(expected[body], axis=-1).max() > 1.0
    assert np.abs(moved - expected)[body].max() < 0.02
    assert np.abs(moved[~body]).max() < 1e-3  # the camera and the town stood still


def test_events_tell_the_change_of_log_brightness(rig: Rig) -> None:
    eye = ahead(rig.world.get_map().get_spawn_points()[40], 0.0, up_m=1.2)
    threshold = 0.2
    dvs = rig.mount(
        "sensor.camera.dvs", eye, **SIZE, positive_threshold=str(threshold), negative_threshold=str(threshold)
    )
    rgb = rig.mount("sensor.camera.rgb", eye, **SIZE)
    levels, told = [], np.zeros((HEIGHT, WIDTH))
    stamps = []
    for k in range(5):
        for camera in (dvs, rgb):
            camera.actor.set_transform(ahead(eye, 0.3 * k))
        rig.world.tick()
        picture = rgb.next()
        grey = bgra(picture)[..., :3].astype(np.float64) @ [0.1140, 0.5870, 0.2989]
        levels.append(np.log(0.001 + grey / 255.0))
        if k == 0:
            continue
        events = dvs.next()
        assert events.frame == picture.frame
        raw = np.frombuffer(events.raw_data, [("x", "<u2"), ("y", "<u2"), ("t", "<i8"), ("pol", "u1")])
        assert (np.diff(raw["t"]) >= 0).all()
        assert picture.timestamp - 0.05 - 1e-6 <= raw["t"][0] * 1e-9 <= raw["t"][-1] * 1e-9 <= picture.timestamp + 1e-6
        np.add.at(told, (raw["y"], raw["x"]), np.where(raw["pol"] == 1, threshold, -threshold))
        stamps.append(len(raw))
    left = levels[-1] - levels[0] - told
    assert min(stamps) > 100
    assert np.abs(left).max() < threshold + 1e-3  # less than one event is untold anywhere
    assert np.abs(levels[-1] - levels[0]).max() > 3 * threshold
    rig.world.tick()
    rig.world.tick()
    assert dvs.measured.empty()  # nothing changes, nothing is sent


def test_motion_blur_smears_along_the_way_and_is_off_unless_asked_for(rig: Rig) -> None:
    eye = ahead(rig.world.get_map().get_spawn_points()[40], 0.0, up_m=1.2)
    sharp = rig.mount("sensor.camera.rgb", eye, **SIZE)
    smeared = rig.mount(
        "sensor.camera.rgb", eye, **SIZE, motion_blur_intensity="1.0", motion_blur_max_distortion="20.0"
    )
    rig.world.tick()
    assert np.array_equal(bgra(sharp.next()), bgra(smeared.next()))  # nothing has moved yet
    turned = carla.Transform(eye.location, carla.Rotation(eye.rotation.pitch, eye.rotation.yaw + 4.0, 0.0))
    for camera in (sharp, smeared):
        camera.actor.set_transform(turned)
    rig.world.tick()
    clear, soft = (bgra(camera.next())[..., :3].astype(float) for camera in (sharp, smeared))

    def across(picture: np.ndarray) -> float:
        return float(np.abs(np.diff(picture, axis=1)).mean())

    def down(picture: np.ndarray) -> float:
        return float(np.abs(np.diff(picture, axis=0)).mean())

    assert across(soft) < 0.7 * across(clear)  # a turn to the right smears along rows
    assert down(soft) > down(clear) * 0.6
    assert abs(soft.mean() - clear.mean()) < 3.0
    rig.world.tick()
    assert np.array_equal(bgra(sharp.next()), bgra(smeared.next()))
