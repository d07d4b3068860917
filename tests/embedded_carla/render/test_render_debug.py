"""Debug shapes appear in colour pictures where they are in the world, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from embedded_carla.render import Picture, Renderer
from embedded_carla.scene import (
    ActorView,
    CameraView,
    DebugArrow,
    DebugBox,
    DebugLine,
    DebugPoint,
    DebugShape,
    DebugText,
)
from embedded_carla.types import BoundingBox, SemanticTag, Transform, WeatherParameters

VIEW = CameraView(320, 180, 90.0, Transform(-150.0, 0.0, 3.0))  # 160 pixels to the tangent
GREEN = (0, 255, 0)
WALL = ActorView(5, "crate", Transform(-145.0, 0.0, 0.0), (0.2, 6.0, 4.0), (0.5, 0.5, 0.5), SemanticTag.STATIC)


@pytest.fixture(autouse=True)
def clean(renderer: Renderer) -> Iterator[None]:
    yield
    renderer.show_debug(())


def picture(renderer: Renderer, *shapes: DebugShape, actors: tuple[ActorView, ...] = ()) -> Picture:
    renderer.show_debug(shapes)
    return renderer.render(
        VIEW, actors, {}, WeatherParameters(sun_altitude_angle=60.0), 1.0, rgb=True, depth=True, labels=True
    )


def green(shot: Picture) -> NDArray[np.bool_]:
    assert shot.bgra is not None
    blue, level, red = (shot.bgra[..., k].astype(int) for k in range(3))
    return np.asarray((level > 200) & (red < 80) & (blue < 80))


def test_a_point_is_a_square_of_its_size(renderer: Renderer) -> None:
    rows, columns = np.nonzero(green(picture(renderer, DebugPoint((-140.0, 2.0, 4.0), 1.0, GREEN))))
    assert rows.mean() == pytest.approx(90 - 16 * 1.0, abs=1)
    assert columns.mean() == pytest.approx(160 + 16 * 2.0, abs=1)
    assert np.ptp(rows) + 1 == pytest.approx(16, abs=2)
    assert np.ptp(columns) + 1 == pytest.approx(16, abs=2)


def test_lines_arrows_and_boxes_reach_their_ends(renderer: Renderer) -> None:
    line = green(picture(renderer, DebugLine((-140.0, -5.0, 3.0), (-140.0, 5.0, 3.0), 0.2, GREEN)))
    rows, columns = np.nonzero(line)
    assert (columns.min(), columns.max()) == (pytest.approx(80, abs=1), pytest.approx(239, abs=1))
    assert len(np.unique(columns)) == np.ptp(columns) + 1
    assert np.ptp(rows) <= 4
    arrow = green(picture(renderer, DebugArrow((-140.0, -5.0, 3.0), (-140.0, 5.0, 3.0), 0.2, 1.0, GREEN)))
    assert np.ptp(np.nonzero(arrow)[0]) > 20
    box = DebugBox(BoundingBox((-140.0, 0.0, 3.0), (0.0, 2.0, 1.0), (0.0, 0.0, 0.0)), 0.1, GREEN)
    rows, columns = np.nonzero(green(picture(renderer, box)))
    assert np.ptp(columns) == pytest.approx(64, abs=3)
    assert np.ptp(rows) == pytest.approx(32, abs=3)


def test_colour_alone_shows_them_and_what_is_nearer_hides_them(renderer: Renderer) -> None:
    shapes = (DebugPoint((-140.0, 0.0, 3.0), 2.0, GREEN), DebugLine((-140, -9, 3.5), (-140, 9, 3.5), 0.3, GREEN))
    bare, drawn = picture(renderer), picture(renderer, *shapes)
    assert green(drawn).sum() > 500
    for name in ("depth_m", "tag", "instance"):
        assert np.array_equal(getattr(bare, name), getattr(drawn, name))
    assert not green(picture(renderer, shapes[0], actors=(WALL,))).any()


def test_shapes_for_a_screen_are_not_seen_by_cameras(renderer: Renderer) -> None:
    shapes = (
        DebugPoint((-140.0, 0.0, 3.0), 2.0, GREEN, on_screen=True),
        DebugText((-140.0, 0.0, 3.0), "text", False, GREEN),
    )
    bare, drawn = picture(renderer), picture(renderer, *shapes)
    assert bare.bgra is not None
    assert drawn.bgra is not None
    assert np.array_equal(bare.bgra, drawn.bgra)
