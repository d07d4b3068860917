"""Looks: drawn from a seed, other colours on the same geometry, and no change at all for seed 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace

import numpy as np
import pytest

from embedded_carla.render import Picture, Renderer
from embedded_carla.render.atmosphere import atmosphere, seen_as
from embedded_carla.render.look import Look, look_of
from embedded_carla.render.shapes.prototypes import PROTOTYPES, shape_of
from embedded_carla.render.textures import texels, texels_of
from embedded_carla.render.tone_curve import FILM_CURVE, apply_curve, fit_curve
from embedded_carla.scene import CameraView, Material
from embedded_carla.types import SignalColour, Transform, WeatherParameters
from tests.embedded_carla.render.street import street, traffic

NOON = WeatherParameters(sun_altitude_angle=60.0, sun_azimuth_angle=30.0)
VIEW = CameraView(160, 90, 60.0, Transform(5.0, -3.0, 1.6))
SEEDS = range(1, 200)
Draw = Callable[[int | Look], Picture]


@pytest.fixture(scope="module")
def renderer_of() -> Iterator[Callable[[int | Look], Renderer]]:
    """The street's renderer in each look that is asked for."""
    made: dict[int | Look, Renderer] = {}

    def get(look: int | Look) -> Renderer:
        if look not in made:
            made[look] = Renderer(street(), look if isinstance(look, Look) else look_of(look))
        return made[look]

    yield get
    for renderer in made.values():
        renderer.close()


@pytest.fixture
def draw(renderer_of: Callable[[int | Look], Renderer]) -> Draw:
    """Draws the street in a look."""
    return lambda look: picture(renderer_of(look))


def picture(renderer: Renderer) -> Picture:
    return renderer.render(VIEW, traffic(), {"7": SignalColour.RED}, NOON, 1.0, rgb=True, depth=True, labels=True)


def colours(picture: Picture) -> np.ndarray:
    assert picture.bgra is not None
    return picture.bgra[..., :3].astype(int)


def test_seed_0_is_the_renderers_own_look(draw: Draw, renderer: Renderer) -> None:
    assert look_of(0) == Look()
    assert np.array_equal(colours(draw(0)), colours(picture(renderer)))
    assert not renderer._programs._looks
    for name in PROTOTYPES:
        assert shape_of(name, 0, Look()) is PROTOTYPES[name].levels[0]
    assert seen_as(atmosphere(NOON), Look().light) is atmosphere(NOON)
    assert texels_of("ASPHALT", texels("ASPHALT"), Look().surfaces) is texels("ASPHALT")
    assert all(Look().surfaces.of(material) == (1.0, 1.0, 1.0) for material in Material)


def test_neutral_values_give_the_own_look_through_the_other_shaders(draw: Draw) -> None:
    """All code of looks runs, with factors that change nothing: at most rounding remains."""
    neutral = draw(replace(Look(), seed=1))
    assert np.abs(colours(neutral) - colours(draw(0))).max() <= 2


def test_a_seed_gives_the_same_picture_again_and_other_seeds_do_not(draw: Draw) -> None:
    second = Renderer(street(), look_of(5))
    again = colours(picture(second))
    second.close()
    first, other, usual = (colours(draw(seed)) for seed in (5, 6, 0))
    assert np.array_equal(first, again)
    for one, two in ((first, other), (first, usual), (other, usual)):
        assert np.abs(one - two).mean() > 4.0


@pytest.mark.parametrize("seed", [2, 3])
def test_a_look_changes_neither_depth_nor_labels(draw: Draw, seed: int) -> None:
    looked, usual = draw(seed), draw(0)
    moved = looked.tag != usual.tag  # a signal head of another kind covers other pixels
    assert np.mean(moved) < 0.002
    assert looked.depth_m is not None
    assert usual.depth_m is not None
    assert np.array_equal(looked.depth_m[~moved & (usual.tag != 7)], usual.depth_m[~moved & (usual.tag != 7)])


def test_each_part_of_a_look_is_drawn_and_differs() -> None:
    looks = [look_of(seed) for seed in SEEDS]
    for part in ("camera", "light", "surfaces", "heads", "vehicles"):
        for field in fields(getattr(looks[0], part)):
            values = {str(getattr(getattr(look, part), field.name)) for look in looks}
            assert len(values) > 1, f"{part}.{field.name} is the same in all looks"
    assert look_of.__wrapped__(7) == look_of(7)


def test_pictures_of_looks_are_neither_black_nor_white(draw: Draw) -> None:
    for seed in (1, 8, 9, 13, 21):
        seen = colours(draw(seed))
        assert 40.0 < seen.mean() < 215.0
        assert seen.std() > 20.0


def test_display_curves_rise_to_white() -> None:
    light = np.linspace(0.0, 8.0, 2000) ** 2
    for curve in (FILM_CURVE, *(look_of(seed).camera.curve for seed in SEEDS)):
        shown = np.clip(apply_curve(curve, light), 0.0, 1.0)
        assert np.diff(shown).min() >= -0.002
        assert shown[0] == 0.0
        assert shown[-1] > 0.98
    assert 0.35 < apply_curve(fit_curve(0.0, 2.2), np.array([0.18]))[0] < 0.55  # mid grey of a power law: 0.46


@pytest.mark.parametrize("seed", [1, 2, 4, 6, 8, 9])
def test_a_lit_lamp_keeps_its_hue(renderer_of: Callable[[int | Look], Renderer], seed: int) -> None:
    """A state that nobody could read would be a wrong label."""
    near = CameraView(96, 96, 12.0, Transform(27.0, -7.6, 3.9))
    renderer = renderer_of(seed)

    def shown(light: SignalColour) -> np.ndarray:
        return colours(renderer.render(near, (), {"7": light}, NOON, 1.0, rgb=True, depth=False, labels=False))

    hue = {}  # green as a fraction of red
    for light in (SignalColour.RED, SignalColour.YELLOW, SignalColour.GREEN):
        lit = shown(light)
        lamp = np.abs(lit - shown(SignalColour.OFF)).sum(axis=2) > 120
        assert lamp.sum() > 40
        _, green, red = lit[lamp].mean(axis=0)
        hue[light] = green / red
    assert hue[SignalColour.RED] < 0.75
    assert 1.15 * hue[SignalColour.RED] < hue[SignalColour.YELLOW] < 1.05
    assert hue[SignalColour.GREEN] > 1.15
