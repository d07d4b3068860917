"""What a camera's attributes do to its picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.embedded_carla.sensors.sensor_rig import HEIGHT, SIZE, WIDTH, Rig, ahead, bgra, depth_m


def pictures(rig: Rig, variants: dict[str, dict[str, str]], kind: str = "rgb") -> dict[str, np.ndarray]:
    """One (H, W, 4) picture of each variant, all of the same view and tick."""
    eye = ahead(rig.world.get_map().get_spawn_points()[40], 0.0, up_m=1.5)
    cameras = {name: rig.mount(f"sensor.camera.{kind}", eye, **SIZE, **given) for name, given in variants.items()}
    rig.world.tick()
    return {name: bgra(camera.next()).astype(np.float64) for name, camera in cameras.items()}


def test_exposure(rig: Rig) -> None:
    manual = {"exposure_mode": "manual"}
    seen = pictures(
        rig,
        {
            "plain": {}, "again": {}, "brighter": {"exposure_compensation": "1.0"},
            "darker": {"exposure_compensation": "-1.0"}, "manual": manual,
            "shutter": {**manual, "shutter_speed": "100.0"}, "iso": {**manual, "iso": "200.0"},
            "fstop": {**manual, "fstop": str(1.4 * 2**0.5)}, "stop": {**manual, "exposure_compensation": "-1.0"},
            "off": {"exposure_compensation": "-1.0", "enable_postprocess_effects": "false"},
        },
    )  # fmt: skip
    assert np.array_equal(seen["plain"], seen["again"])
    assert np.array_equal(seen["plain"], seen["off"])
    assert seen["darker"].mean() + 8.0 < seen["plain"].mean() < seen["brighter"].mean() - 8.0
    assert np.array_equal(seen["shutter"], seen["iso"])  # twice the time is twice the sensitivity
    assert np.array_equal(seen["fstop"], seen["stop"])  # half the area is one stop less
    assert seen["shutter"].mean() > seen["manual"].mean() + 8.0


def test_a_manual_camera_does_not_adapt_to_the_night(rig: Rig, sync_world: Any) -> None:
    weather = sync_world.get_weather()
    weather.sun_altitude_angle = -30.0
    sync_world.set_weather(weather)
    seen = pictures(rig, {"histogram": {}, "manual": {"exposure_mode": "manual"}})
    assert seen["manual"][..., :3].mean() < 0.7 * seen["histogram"][..., :3].mean()


def test_gamma_and_white_balance(rig: Rig) -> None:
    seen = pictures(
        rig, {"plain": {}, "soft": {"gamma": "2.8"}, "warm": {"temp": "9000"}, "cold": {"temp": "4000"},
              "tint": {"tint": "0.4"}},
    )  # fmt: skip
    expected = 255.0 * (seen["plain"][..., :3] / 255.0) ** (2.2 / 2.8)
    assert np.abs(seen["soft"][..., :3] - expected).max() <= 1.0

    def blue(picture: np.ndarray) -> float:
        return float(picture[..., 0].mean() / picture[..., 1].mean())

    def red(picture: np.ndarray) -> float:
        return float(picture[..., 2].mean() / picture[..., 1].mean())

    assert red(seen["warm"]) > red(seen["plain"]) > red(seen["cold"])
    assert blue(seen["warm"]) < blue(seen["plain"]) < blue(seen["cold"])
    assert not np.array_equal(seen["tint"], seen["plain"])


def test_the_default_lens_is_a_pinhole_and_another_bends_all_cameras_alike(rig: Rig) -> None:
    barrel = {"lens_k": "-0.6"}
    rgb = pictures(rig, {"plain": {}, "bent": barrel, "circle": {"lens_circle_multiplier": "1.5"}})
    depth = pictures(rig, {"plain": {}, "bent": barrel}, "depth")
    centre = np.s_[HEIGHT // 2 - 2 : HEIGHT // 2 + 2, WIDTH // 2 - 2 : WIDTH // 2 + 2]
    assert np.abs(rgb["plain"][centre] - rgb["bent"][centre]).mean() < 6.0
    v, u = np.mgrid[0:HEIGHT, 0:WIDTH] + 0.5
    x, y = (u - WIDTH / 2) / (WIDTH / 2), (v - HEIGHT / 2) / (WIDTH / 2)
    stretch = 1.0 + 0.4 * (x**2 + y**2)  # k + 1 = 0.4
    column = np.clip(np.rint(x * stretch * WIDTH / 2 + WIDTH / 2 - 0.5), 0, WIDTH - 1).astype(int)
    row = np.clip(np.rint(y * stretch * WIDTH / 2 + HEIGHT / 2 - 0.5), 0, HEIGHT - 1).astype(int)
    same = (depth["bent"] == depth["plain"][row, column]).all(axis=-1)
    assert same.mean() > 0.97  # but for halves that round either way
    assert np.abs(rgb["bent"] - rgb["plain"][row, column]).mean() < 4.0
    rim = rgb["circle"][0, 0, :3].sum()
    assert rim < 0.5 * rgb["plain"][0, 0, :3].sum()
    assert np.array_equal(rgb["circle"][centre], rgb["plain"][centre])


def test_fov_and_size_are_those_asked_for(rig: Rig) -> None:
    eye = ahead(rig.world.get_map().get_spawn_points()[40], 0.0, up_m=1.5)
    wide = rig.mount("sensor.camera.depth", eye, image_size_x="200", image_size_y="100", fov="120")
    narrow = rig.mount("sensor.camera.depth", eye, image_size_x="200", image_size_y="100", fov="40")
    rig.world.tick()
    far, near = wide.next(), narrow.next()
    assert (far.width, far.height, far.fov, near.fov) == (200, 100, 120.0, 40.0)
    # The road's rows: depth f h / (v - c), the eye h over it.
    height = eye.location.z - rig.world.ground_projection(eye.location, 10.0).location.z
    for image in (far, near):
        focal = 100.0 / np.tan(np.radians(image.fov) / 2)
        assert abs(depth_m(image)[95, 100] / (focal * height / 45.5) - 1.0) < 0.02
