"""Geometry of pictures: depth, labels and colour agree with the world; the same inputs give the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_carla.errors import EmbeddedCarlaError
from embedded_carla.render import Picture, Renderer, RenderError, Shot
from embedded_carla.scene import ActorView, CameraView, Placement
from embedded_carla.types import LightState, SemanticTag, SignalColour, Transform, WeatherParameters
from tests.embedded_carla.render.street import street, traffic

NOON = WeatherParameters(sun_altitude_angle=60.0, sun_azimuth_angle=30.0)
VIEW = CameraView(320, 180, 90.0, Transform(-120.0, 1.8, 1.5))
BOX = ActorView(77, "crate", Transform(-100.0, 0.0, 0.0), (1.0, 2.0, 0.5), (1.0, 0.0, 0.0), SemanticTag.STATIC)
CAR = replace(BOX, actor_id=70_001, shape="sedan", extent=(2.3, 0.95, 0.75), tag=SemanticTag.CAR)


def draw(renderer: Renderer, view: CameraView, actors: tuple[ActorView, ...] = (), **kwargs: object) -> Picture:
    wanted = {"rgb": True, "depth": True, "labels": True}
    lights = kwargs.pop("lights", {})
    weather = kwargs.pop("weather", NOON)
    return renderer.render(view, actors, lights, weather, 1.0, **wanted | kwargs)  # type: ignore[arg-type]


def test_pictures_drawn_together_are_those_drawn_alone() -> None:
    renderer = Renderer(street())
    moving = traffic()
    fewer = moving[:-2]
    views = [replace(VIEW, transform=Transform(-120.0, 1.8, 1.5, yaw_deg=90.0 * (k % 4))) for k in range(8)]
    wanted = [(True, False, False), (True, True, True), (False, True, True)]
    shots = [
        Shot(view, fewer if k % 4 == 1 else moving, *wanted[k % 3], gain=1.0 + k % 2) for k, view in enumerate(views)
    ]
    together = list(renderer.render_all(shots, {}, NOON, 1.0))
    alone = [next(renderer.render_all([shot], {}, NOON, 1.0)) for shot in reversed(shots)][::-1]
    for one, other in zip(together, alone, strict=True):
        for name in ("bgra", "depth_m", "tag", "instance"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
    first, fourth = together[0].bgra, together[3].bgra
    assert first is not None
    assert fourth is not None
    assert not np.array_equal(first, fourth)
    renderer.close()


@settings(max_examples=15, deadline=None)
@given(
    st.floats(0.8, 30.0),
    st.floats(-80.0, -5.0),
    st.floats(-180.0, 180.0),
    st.floats(-40.0, 40.0),
    st.floats(30.0, 120.0),
)
def test_depth_is_planar_and_exact_on_the_flat_road(
    renderer: Renderer, height: float, pitch: float, yaw: float, roll: float, fov: float
) -> None:
    view = CameraView(160, 120, fov, Transform(-150.0, 0.0, height, pitch, yaw, roll))
    picture = draw(renderer, view, rgb=False)
    assert picture.depth_m is not None
    tan = np.tan(np.radians(fov / 2))
    x = (np.arange(160) + 0.5) / 80.0 - 1.0
    y = 1.0 - (np.arange(120) + 0.5) / 60.0
    rays = np.stack(np.broadcast_arrays(1.0, x[None, :] * tan, y[:, None] * tan * 120 / 160), axis=-1)
    world = rays @ view.transform.matrix()[:3, :3].T
    with np.errstate(divide="ignore"):
        expected = -height / world[..., 2]
    road = (picture.tag == SemanticTag.ROADS) & (expected < 300)
    assert np.allclose(picture.depth_m[road], expected[road], rtol=2e-4, atol=2e-3)


def test_a_box_is_seen_where_it_stands(renderer: Renderer) -> None:
    picture = draw(renderer, replace(VIEW, transform=Transform(-120.0, 0.0, 0.5)), (BOX,))
    assert picture.instance is not None
    assert picture.depth_m is not None
    rows, columns = np.nonzero(picture.instance == 77)
    front_m = 20.0 - 1.0
    focal = 160.0
    assert columns.min() == pytest.approx(160 - focal * 2.0 / front_m, abs=1)
    assert columns.max() == pytest.approx(159 + focal * 2.0 / front_m, abs=1)
    assert rows.min() == pytest.approx(90 - focal * 0.5 / front_m, abs=1)
    assert rows.max() == pytest.approx(89 + focal * 0.5 / front_m, abs=1)
    assert np.allclose(picture.depth_m[rows, columns], front_m, atol=0.01)


def test_axes_and_channels(renderer: Renderer) -> None:
    right = replace(CAR, actor_id=77, colour=(1.0, 0.0, 0.0), transform=Transform(-110.0, 6.0, 0.0))
    picture = draw(renderer, VIEW, (right,))
    assert picture.bgra is not None
    assert picture.instance is not None
    rows, columns = np.nonzero(picture.instance == 77)
    assert columns.min() > 160  # +y is to the right
    blue, green, red, alpha = picture.bgra[rows, columns].mean(axis=0)
    assert red > 1.5 * max(blue, green)  # glass, tyres and lamps are not
    assert alpha == 255
    assert picture.bgra[:60, :, 0].mean() > picture.bgra[:60, :, 2].mean()  # the sky is on top and blue


def test_only_what_is_asked_for_is_made(renderer: Renderer) -> None:
    picture = draw(renderer, VIEW, rgb=False, labels=False)
    assert picture.bgra is None
    assert picture.tag is None
    assert picture.instance is None
    assert picture.depth_m is not None
    with pytest.raises(RenderError, match="at least one"):
        draw(renderer, VIEW, rgb=False, depth=False, labels=False)


def test_outputs_do_not_depend_on_each_other(renderer: Renderer) -> None:
    actors = tuple(traffic())
    together = draw(renderer, VIEW, actors)
    for name in ("rgb", "depth", "labels"):
        alone = draw(renderer, VIEW, actors, **{n: n == name for n in ("rgb", "depth", "labels")})
        field = {"rgb": "bgra", "depth": "depth_m", "labels": "tag"}[name]
        assert np.array_equal(getattr(alone, field), getattr(together, field))


def test_markings_lie_on_the_road_out_to_150_m(renderer: Renderer) -> None:
    view = CameraView(640, 360, 30.0, Transform(-250.0, 0.15, 1.5))
    picture = draw(renderer, view)
    assert picture.tag is not None
    assert picture.depth_m is not None
    column = picture.tag[:, 320]
    inside = (picture.depth_m[:, 320] < 150.0) & (np.arange(360) > 181)
    assert (column[inside] == SemanticTag.ROAD_LINES).mean() > 0.98


def test_markings_stand_out_from_the_asphalt(renderer: Renderer) -> None:
    picture = draw(renderer, VIEW)
    assert picture.bgra is not None
    assert picture.depth_m is not None
    near = picture.depth_m < 25
    red = picture.bgra[..., 2]  # white and yellow paint both reflect it
    road, lines = red[near & (picture.tag == SemanticTag.ROADS)], red[near & (picture.tag == SemanticTag.ROAD_LINES)]
    assert len(lines) > 50
    assert np.percentile(lines, 10) > np.percentile(road, 95) + 15


def test_same_inputs_same_bytes_even_from_a_new_renderer(renderer: Renderer) -> None:
    weather = WeatherParameters(60, 50, 40, 60, 30, 20, 20, 5, 1, 50, 10, 0.1, 0.05, 10)
    actors = tuple(traffic(lights=int(LightState.LOW_BEAM | LightState.BRAKE)))
    first = draw(renderer, VIEW, actors, weather=weather)
    draw(renderer, replace(VIEW, transform=Transform(0, 0, 30, -20)), weather=NOON)
    second = draw(renderer, VIEW, actors, weather=weather)
    other = Renderer(street())
    for x in range(-60, 101, 40):  # its shadow maps hold other places
        draw(other, replace(VIEW, transform=Transform(x, 1.8, 1.5)), weather=weather)
    third = draw(other, VIEW, actors, weather=weather)
    other.close()
    for name in ("bgra", "depth_m", "tag", "instance"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
        assert np.array_equal(getattr(first, name), getattr(third, name))


def test_signal_heads_show_their_light(renderer: Renderer) -> None:
    view = CameraView(320, 180, 40.0, Transform(26.0, -7.6, 3.6))
    brightest = {}
    for state in (SignalColour.RED, SignalColour.YELLOW, SignalColour.GREEN, SignalColour.OFF):
        picture = draw(renderer, view, lights={"7": state})
        assert picture.bgra is not None
        assert picture.tag is not None
        rows, columns = np.nonzero(picture.tag == SemanticTag.TRAFFIC_LIGHT)
        shine = picture.bgra[rows, columns, :3].max(axis=-1).astype(int)
        top = shine > 200
        brightest[state] = (
            (picture.bgra[rows[top], columns[top], :3].mean(axis=0), rows[top].mean()) if top.any() else None
        )
    assert brightest[SignalColour.OFF] is None
    (red, high), (_, middle), (green, low) = (seen for seen in brightest.values() if seen is not None)
    assert high < middle < low
    assert red[2] > red[1] + 50
    assert green[1] > green[2] + 50


def test_brake_lamps_shine(renderer: Renderer) -> None:
    view = CameraView(320, 180, 60.0, Transform(-108.0, 0.0, 1.2))
    off, on = (draw(renderer, view, (replace(CAR, lights=bits),)) for bits in (0, int(LightState.BRAKE)))
    assert off.bgra is not None
    assert on.bgra is not None
    assert on.instance is not None
    gain = on.bgra[..., 2].astype(int) - off.bgra[..., 2]
    assert (gain > 60).sum() > 20
    assert set(np.unique(on.instance[gain > 60])) == {70_001 & 0xFFFF}


def test_shapes_of_all_blueprints_fill_their_box(renderer: Renderer) -> None:
    shapes = ("sedan", "hatchback", "suv", "pickup", "van", "truck", "bus", "motorcycle", "bicycle", "walker", "crate")
    view = CameraView(320, 180, 60.0, Transform(-100.0, -8.0, 0.9, 0.0, 90.0))
    for shape in shapes:
        actor = replace(CAR, shape=shape, extent=(2.0, 0.9, 0.8), actor_id=5)
        picture = draw(renderer, view, (actor,), rgb=False)
        assert picture.instance is not None
        rows, columns = np.nonzero(picture.instance == 5)
        focal, near = 160.0 / np.tan(np.radians(30.0)), 8.0
        long, tall = (np.ptp(columns) + 1) * near / focal, (np.ptp(rows) + 1) * near / focal
        assert 0.75 * 1.6 < tall < 1.2 * 1.6, shape
        assert long < 1.25 * 4.0, shape
        assert long > (0.7 * 4.0 if shape != "walker" else 0.3), shape


def test_camera_inside_its_own_car_sees_the_road(renderer: Renderer) -> None:
    ego = replace(CAR, transform=Transform(-120.0, 0.0, 0.0))
    above = draw(renderer, CameraView(320, 180, 90.0, ego.transform @ Transform(x=0.8, z=1.7, pitch_deg=-25.0)), (ego,))
    assert above.tag is not None
    assert (above.tag == SemanticTag.CAR).any()  # its bonnet
    assert (above.tag == SemanticTag.ROADS).any()


def test_a_map_with_nothing_on_it_shows_the_sky() -> None:
    bare = Renderer(replace(street(), placements=(), meshes=()))
    picture = draw(bare, VIEW)
    bare.close()
    assert picture.tag is not None
    assert (picture.tag == SemanticTag.SKY).all()


def test_unknown_prototype_is_named() -> None:
    scenery = replace(street(), placements=(Placement("castle", Transform(), (1, 1, 1), SemanticTag.OTHER),))
    with pytest.raises(RenderError, match="castle"):
        Renderer(scenery)


def test_missing_gl_says_what_to_install() -> None:
    code = (
        "import ctypes.util\nctypes.util.find_library = lambda name: None\n"
        "from embedded_carla.render.context import RenderError, create_context\n"
        "try:\n    create_context()\nexcept RenderError as error:\n    print(error)\n"
    )
    env = os.environ | {"GLCONTEXT_LINUX_LIBEGL": "libno_such_egl.so", "GLCONTEXT_LINUX_LIBGL": "libno_such_gl.so"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=True)
    assert "apt-get install --no-install-recommends libegl1 libgl1" in done.stdout
    assert len(done.stdout.strip().splitlines()) == 1
    assert issubclass(RenderError, EmbeddedCarlaError)
