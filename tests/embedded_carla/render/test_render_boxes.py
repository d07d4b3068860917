"""Every vehicle fills its bounding box and stays inside it, and its lamps answer its light state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from embedded_carla.render import Renderer
from embedded_carla.scene import ActorView, CameraView, Placement
from embedded_carla.types import LightState, SemanticTag, SignalColour, Transform, WeatherParameters
from tests.embedded_carla.render.contact_sheet import around, floor, vehicle_views

VIEWS = dict(vehicle_views())
NOON = WeatherParameters(sun_altitude_angle=50.0, sun_azimuth_angle=200.0)
SLACK_PX = 1.5


@pytest.fixture(scope="module")
def empty() -> Iterator[Renderer]:
    made = Renderer(floor())
    yield made
    made.close()


def projected(view: CameraView, actor: ActorView) -> NDArray[np.float64]:
    """(2, 2) least and greatest column and row of the actor's bounding box."""
    signs = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)]) * 2.0 - 1.0
    corners = signs * actor.extent + np.array([0.0, 0.0, actor.extent[2]])
    m = view.transform.matrix()
    local = (corners - m[:3, 3]) @ m[:3, :3]
    focal = view.width_px / (2.0 * np.tan(np.radians(view.fov_deg) / 2.0))
    pixels = np.stack(
        [view.width_px / 2 + focal * local[:, 1] / local[:, 0], view.height_px / 2 - focal * local[:, 2] / local[:, 0]],
        axis=1,
    )
    return np.stack([pixels.min(axis=0), pixels.max(axis=0)])


@pytest.mark.parametrize("name", VIEWS)
def test_the_mask_lies_in_the_projected_box_and_fills_it(empty: Renderer, name: str) -> None:
    actor = replace(VIEWS[name], steer_rad=0.0)
    reach = 10.0 * max(actor.extent) + 2.0  # from afar, or the box's near face is larger than all that is in it
    for yaw in (0.0, 90.0, 180.0, 40.0):
        view = around(yaw, reach, 1.2, 0.8, 480, 320, 17.0)
        picture = empty.render(view, [actor], {}, NOON, 0.0, rgb=False, depth=False, labels=True)
        assert picture.instance is not None
        rows, columns = np.nonzero(picture.instance == actor.actor_id)
        low, high = projected(view, actor)
        seen = np.array([[columns.min(), rows.min()], [columns.max() + 1, rows.max() + 1]])
        assert np.all(seen[0] >= low - SLACK_PX), (name, yaw, seen, low, high)
        assert np.all(seen[1] <= high + SLACK_PX), (name, yaw, seen, low, high)
        filled = (seen[1] - seen[0]) / (high - low)
        slim = actor.tag in (SemanticTag.MOTORCYCLE, SemanticTag.BICYCLE) and yaw == 40.0  # a bar, not a box, fills it
        assert np.all(filled > (0.60 if slim else 0.85, 0.90)), (name, yaw, filled)


@pytest.mark.parametrize(
    ("bits", "yaw", "colour"),
    [
        (LightState.BRAKE, 180.0, "red"),
        (LightState.LEFT_BLINKER, 180.0, "amber"),
        (LightState.RIGHT_BLINKER, 0.0, "amber"),
        (LightState.REVERSE, 180.0, "white"),
        (LightState.LOW_BEAM, 0.0, "white"),
    ],
)
def test_lamps_of_every_car_answer_the_light_state(empty: Renderer, bits: LightState, yaw: float, colour: str) -> None:
    for name, actor in VIEWS.items():
        if actor.tag == SemanticTag.BICYCLE or (actor.tag == SemanticTag.MOTORCYCLE and bits == LightState.REVERSE):
            continue
        view = around(yaw, actor.extent[0] + 4.0, 1.0, 0.8, 320, 240, 50.0)
        off, on = (
            empty.render(view, [replace(actor, lights=b)], {}, NOON, 0.5, rgb=True, depth=False, labels=True)
            for b in (0, int(bits))
        )
        assert off.bgra is not None
        assert on.bgra is not None
        assert on.instance is not None
        body = on.instance[..., None] == actor.actor_id
        gain = np.where(body, on.bgra[..., :3].astype(int) - off.bgra[..., :3], 0)
        lit = gain.max(axis=-1) > 40
        assert lit.sum() >= 6, (name, colour)
        blue, green, red = on.bgra[..., :3][lit].mean(axis=0)
        if colour == "red":
            assert red > 1.6 * max(blue, green), name
        elif colour == "amber":
            assert red > 1.6 * blue, name
            columns = np.nonzero(lit)[1].mean()
            assert (columns < 160) == (yaw == 180.0 or bits == LightState.RIGHT_BLINKER), name
        else:
            assert min(blue, green, red) > 150, name


@pytest.mark.parametrize("state", [SignalColour.RED, SignalColour.YELLOW, SignalColour.GREEN])
def test_a_lit_signal_keeps_its_colour_at_60_m(state: SignalColour) -> None:
    head = Placement("signal_head", Transform(0.0, 0.3, 4.0), (0.3, 0.52, 1.16), SemanticTag.TRAFFIC_LIGHT, 1, "", "7")
    renderer = Renderer(floor([head]))
    view = CameraView(640, 360, 90.0, Transform(60.0, 0.0, 1.6, 0.0, 180.0))
    picture = renderer.render(view, [], {"7": state}, NOON, 0.0, rgb=True, depth=False, labels=True)
    renderer.close()
    assert picture.bgra is not None
    own = picture.bgra[picture.tag == SemanticTag.TRAFFIC_LIGHT][:, :3].astype(int)
    blue, green, red = own[np.argmax(own.max(axis=1))]
    assert max(red, green) > 150
    if state == SignalColour.RED:
        assert red > 1.8 * green
    elif state == SignalColour.YELLOW:
        assert red > 1.2 * green > 1.5 * blue
    else:
        assert green > 1.6 * red
        assert green > blue


def test_people_walk_and_stand(empty: Renderer) -> None:
    walker = ActorView(9, "walker", Transform(), (0.19, 0.19, 0.9), (0.4, 0.4, 0.4), SemanticTag.PEDESTRIANS, seed=3)
    widths = []
    for phase in (0.0, 0.5 * np.pi, np.pi):
        view = around(90.0, 5.0, 1.0, 0.9, 320, 240, 40.0)
        picture = empty.render(
            view, [replace(walker, phase_rad=phase)], {}, NOON, 0.0, rgb=False, depth=False, labels=True
        )
        assert picture.instance is not None
        rows, columns = np.nonzero(picture.instance == 9)
        widths.append(np.ptp(columns[rows > rows.max() - 0.15 * np.ptp(rows)]))
        assert np.ptp(rows) > 0.9 * 1.8 / 5.0 * 160 / np.tan(np.radians(20.0))
    assert widths[1] > 2.0 * widths[0]  # the feet are apart in mid step
