"""Each of the 14 weather parameters changes the picture, and in the expected direction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from embedded_carla.render import Picture, Renderer
from embedded_carla.scene import ActorView, CameraView
from embedded_carla.types import SemanticTag, Transform, WeatherParameters
from tests.embedded_carla.render.street import traffic

CLEAR = WeatherParameters(sun_altitude_angle=45.0, sun_azimuth_angle=60.0, mie_scattering_scale=0.03)
DRIVER = Transform(-120.0, 1.8, 1.5)
DOWN = Transform(-60.0, 0.0, 6.0, -75.0)
CAR = ActorView(9, "sedan", Transform(-110.0, 0.0, 0.0), (2.3, 0.95, 0.75), (0.5, 0.5, 0.5), SemanticTag.CAR)


def shot(
    renderer: Renderer,
    weather: WeatherParameters,
    pose: Transform = DRIVER,
    time_s: float = 2.0,
    actors: tuple[ActorView, ...] = (),
) -> Picture:
    view = CameraView(320, 180, 90.0, pose)
    return renderer.render(view, actors, {}, weather, time_s, rgb=True, depth=True, labels=True)


def colour(picture: Picture) -> NDArray[np.float64]:
    """(H, W, 3) RGB as floats."""
    assert picture.bgra is not None
    return picture.bgra[..., 2::-1].astype(np.float64)


def grey(picture: Picture) -> NDArray[np.float64]:
    return np.asarray(colour(picture).mean(axis=-1))


def of(picture: Picture, tag: SemanticTag) -> NDArray[np.bool_]:
    assert picture.tag is not None
    return np.asarray(picture.tag == tag)


def depth(picture: Picture) -> NDArray[np.float32]:
    assert picture.depth_m is not None
    return picture.depth_m


def towards_sun(altitude: float = 45.0, azimuth: float = 60.0, off_deg: float = 0.0) -> Transform:
    return Transform(-60.0, 0.0, 40.0, altitude, azimuth + off_deg)


def test_cloudiness_greys_the_sky_and_softens_shadows(renderer: Renderer) -> None:
    clear, cloudy = shot(renderer, CLEAR), shot(renderer, replace(CLEAR, cloudiness=100.0))
    blue = [colour(p)[of(p, SemanticTag.SKY)] @ (-1.0, 0.0, 1.0) for p in (clear, cloudy)]
    assert blue[0].mean() > blue[1].mean() + 20
    road = [grey(p)[of(p, SemanticTag.ROADS) & (depth(p) < 25)] for p in (clear, cloudy)]
    assert road[0].std() > 2 * road[1].std()


def test_precipitation_draws_streaks(renderer: Renderer) -> None:
    overcast = replace(CLEAR, cloudiness=100.0)
    edges = []
    for rain in (0.0, 40.0, 100.0):
        picture = shot(renderer, replace(overcast, precipitation=rain))
        inner = cv2.erode(of(picture, SemanticTag.SKY).astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
        sky = inner[:, 1:] & inner[:, :-1]
        edges.append((np.abs(np.diff(grey(picture), axis=1))[sky] > 6).mean())
    assert edges[0] < 0.001
    assert edges[2] > 1.5 * edges[1] > 0.003


def test_precipitation_deposits_make_puddles_that_mirror_what_stands_behind_them(renderer: Renderer) -> None:
    dry, flooded = shot(renderer, CLEAR), shot(renderer, replace(CLEAR, precipitation_deposits=100.0))
    far_road = of(dry, SemanticTag.ROADS) & (depth(dry) > 15)
    upside_down = colour(dry)[::-1]  # the camera looks level: a floor mirrors the upper half into the lower
    apart = [np.linalg.norm(colour(p) - upside_down, axis=-1)[far_road].mean() for p in (dry, flooded)]
    assert apart[1] < 0.75 * apart[0]
    below = [grey(shot(renderer, replace(CLEAR, precipitation_deposits=d), DOWN)).mean() for d in (0.0, 50.0, 100.0)]
    assert below[0] > below[1] > below[2]


def test_wetness_darkens_the_road(renderer: Renderer) -> None:
    shade = []
    for wetness in (0.0, 50.0, 100.0):
        picture = shot(renderer, replace(CLEAR, wetness=wetness), DOWN)
        shade.append(grey(picture)[of(picture, SemanticTag.ROADS)].mean())
    assert shade[0] > shade[1] + 5
    assert shade[1] > shade[2] + 5


def test_wind_moves_the_leaves(renderer: Renderer) -> None:
    moved = []
    for wind in (0.0, 40.0, 100.0):
        weather = replace(CLEAR, wind_intensity=wind)
        before, after = (of(shot(renderer, weather, time_s=t), SemanticTag.VEGETATION) for t in (1.0, 1.8))
        moved.append(int((before != after).sum()))
    assert moved[0] == 0
    assert moved[2] > moved[1] > 20


def test_sun_azimuth_turns_the_shadows(renderer: Renderer) -> None:
    pose = Transform(-110.0, 0.0, 12.0, -89.0)
    for azimuth, dark_side in ((90.0, -1), (270.0, 1)):
        picture = shot(renderer, replace(CLEAR, sun_azimuth_angle=azimuth), pose, actors=(CAR,))
        shade = np.where(of(picture, SemanticTag.ROADS), grey(picture), np.nan)[60:120]
        rows, columns = np.nonzero(of(picture, SemanticTag.CAR))
        left, right = columns.min(), columns.max()
        assert len(rows) > 100
        sides = np.nanmean(shade[:, left - 7 : left - 1]), np.nanmean(shade[:, right + 2 : right + 8])
        assert dark_side * (sides[0] - sides[1]) > 25


def test_sun_altitude_sets_brightness_down_to_night(renderer: Renderer) -> None:
    light = [grey(shot(renderer, replace(CLEAR, sun_altitude_angle=a))).mean() for a in (60.0, 10.0, -3.0, -30.0)]
    assert light[0] > light[1] > light[2] > light[3]
    assert light[3] < 0.4 * light[0]


def test_low_sun_is_redder_and_casts_longer_shadows(renderer: Renderer) -> None:
    pose = Transform(-110.0, 0.0, 14.0, -89.0)
    shaded = []
    for altitude in (70.0, 30.0):
        weather = replace(CLEAR, sun_altitude_angle=altitude, sun_azimuth_angle=0.0)
        bare, parked = shot(renderer, weather, pose), shot(renderer, weather, pose, actors=(CAR,))
        road = of(parked, SemanticTag.ROADS)
        shaded.append(int((grey(bare)[road] - grey(parked)[road] > 20).sum()))
    assert shaded[1] > 1.3 * shaded[0]
    warm = [colour(shot(renderer, replace(CLEAR, sun_altitude_angle=a)))[:90] @ (1.0, 0.0, -1.0) for a in (60.0, 3.0)]
    assert warm[1].mean() > warm[0].mean() + 15


@pytest.mark.parametrize("far", [False, True])
def test_fog_density_fades_what_is_far(renderer: Renderer, far: bool) -> None:
    contrast = []
    for density in (0.0, 30.0, 80.0):
        picture = shot(renderer, replace(CLEAR, fog_density=density))
        chosen = depth(picture) > 60 if far else depth(picture) < 20
        chosen &= ~of(picture, SemanticTag.SKY)
        contrast.append(grey(picture)[chosen].std())
    assert contrast[0] > contrast[1] > contrast[2]
    assert (contrast[2] < 0.25 * contrast[0]) == far


def test_fog_distance_moves_where_fog_begins(renderer: Renderer) -> None:
    foggy = replace(CLEAR, fog_density=70.0)
    clear, here, there = (shot(renderer, w) for w in (CLEAR, foggy, replace(foggy, fog_distance=80.0)))
    near = (depth(clear) > 20) & (depth(clear) < 50)
    beyond = (depth(clear) > 130) & ~of(clear, SemanticTag.SKY)
    change = {
        name: [np.abs(grey(p) - grey(clear))[where].mean() for p in (here, there)]
        for name, where in (("near", near), ("beyond", beyond))
    }
    assert change["near"][0] > 25
    assert change["near"][1] < 1.0
    assert change["beyond"][1] > 15


def test_fog_falloff_keeps_fog_low(renderer: Renderer) -> None:
    foggy = replace(CLEAR, fog_density=35.0)
    clear, even, low = (shot(renderer, w) for w in (CLEAR, foggy, replace(foggy, fog_falloff=3.0)))
    walls = of(clear, SemanticTag.BUILDINGS) & (depth(clear) > 40)
    rows = np.arange(180)[:, None]
    top, bottom = walls & (rows < 70), walls & (rows > 84)
    change = [
        [np.abs(grey(p) - grey(clear))[part].mean() for part in (top, bottom)] for p in (even, low)
    ]  # [even, low][top, bottom]
    assert top.sum() > 100
    assert bottom.sum() > 50
    assert change[1][0] / change[1][1] < 0.6 * change[0][0] / change[0][1]


def test_scattering_intensity_makes_haze_glow_towards_the_sun(renderer: Renderer) -> None:
    low = replace(CLEAR, sun_altitude_angle=15.0, sun_azimuth_angle=10.0)
    gain = []
    for yaw in (0.0, 180.0):
        pose = Transform(100.0, 1.8, 1.5, 0.0, yaw)
        plain, lit = (shot(renderer, replace(low, scattering_intensity=s), pose) for s in (0.0, 100.0))
        far = (depth(plain) > 60) & ~of(plain, SemanticTag.SKY)
        gain.append((grey(lit) - grey(plain))[far].mean())
    assert gain[0] > 10
    assert gain[0] > gain[1] + 10


def test_mie_scattering_puts_a_halo_around_the_sun(renderer: Renderer) -> None:
    halo = []
    for mie in (0.0, 0.1, 0.5):
        weather = replace(CLEAR, mie_scattering_scale=mie)
        beside, aside = (
            grey(shot(renderer, weather, towards_sun(off_deg=o)))[80:100, 150:170].mean() for o in (9.0, 90.0)
        )
        halo.append(beside - aside)
    assert halo[0] + 5 < halo[1] < halo[2]


def test_rayleigh_scattering_makes_the_sky_bluer(renderer: Renderer) -> None:
    up = Transform(-60.0, 0.0, 40.0, 60.0, 240.0)
    blue = []
    for rayleigh in (0.0, 0.0331, 0.2):
        rgb = colour(shot(renderer, replace(CLEAR, rayleigh_scattering_scale=rayleigh), up)).mean(axis=(0, 1))
        blue.append(rgb[2] / rgb[0])
    assert blue[0] * 1.15 < blue[1]
    assert blue[1] * 1.05 < blue[2]


def test_dust_storm_is_brown_and_hides_the_distance(renderer: Renderer) -> None:
    brown, contrast = [], []
    for dust in (0.0, 40.0, 100.0):
        picture = shot(renderer, replace(CLEAR, dust_storm=dust))
        brown.append((colour(picture) @ (1.0, 0.0, -1.0)).mean())
        contrast.append(grey(picture)[(depth(picture) > 50) & (depth(picture) < 900)].std())
    assert brown[0] + 10 < brown[1] < brown[2]
    assert contrast[0] > contrast[1] > contrast[2]


def test_every_parameter_has_its_test() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    names = WeatherParameters.__dataclass_fields__
    missing = [n for n in names if f"{n}=" not in text and f"def test_{n}" not in text]
    assert not missing


def test_vehicles_light_the_road_at_night(renderer: Renderer) -> None:
    night = replace(CLEAR, sun_altitude_angle=-30.0)
    ego = replace(CAR, transform=Transform(-130.0, 1.8, 0.0))
    dark, lit = (
        shot(renderer, night, Transform(-128.0, 1.8, 1.6), actors=(replace(ego, lights=bits),)) for bits in (0, 2)
    )
    ahead = of(dark, SemanticTag.ROADS) & (depth(dark) > 6) & (depth(dark) < 20)
    assert grey(lit)[ahead].mean() > grey(dark)[ahead].mean() + 15


def test_traffic_is_drawn_in_any_weather(renderer: Renderer) -> None:
    storm = WeatherParameters(100.0, 100.0, 100.0, 100.0, 30.0, -20.0, 50.0, 50.0, 50.0, 50.0, 50.0, 50.0, 50.0, 50.0)
    picture = shot(renderer, storm, actors=tuple(traffic(12, 4, lights=15)))
    assert grey(picture).std() > 1
