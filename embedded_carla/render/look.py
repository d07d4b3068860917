"""The look of a picture: materials, light, camera, signal heads and vehicle finish, drawn from one seed.

Seed 0 is the renderer's own look. Any other seed stands for another renderer: the same scene, the same geometry and
labels, other colours and another image formation. A detector that is trained on many looks does not learn one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.tone_curve import FILM_CURVE, Curve, fit_curve
from embedded_carla.scene import Material

Triple = tuple[float, float, float]
GREY: Triple = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class CameraLook:
    """Image formation, from light to display values.

    `gain` multiplies the exposure by channel (R, G, B): exposure bias and white balance. `curve` holds the coefficients
    of the display curve. `saturation` and `contrast` (about mid grey) of display values; `lift` is added to them.
    `bloom` is the strength of the glow around bright pixels; `vignette` the darkening in the corners; `sharpening` is
    negative for a soft lens; `fringe_px` is the shift of red outwards and of blue inwards in the corners; `smoothing`
    multiplies the strength of edge smoothing.
    """

    gain: Triple = GREY
    curve: Curve = FILM_CURVE
    saturation: float = 1.0
    contrast: float = 1.0
    lift: float = 0.0
    bloom: float = 0.0
    vignette: float = 0.0
    sharpening: float = 0.0
    fringe_px: float = 0.0
    smoothing: float = 1.0


@dataclass(frozen=True, slots=True)
class LightLook:
    """Factors of the weather's light: sun, light from the sky and from the ground (R, G, B), density of the haze."""

    sun: float = 1.0
    sky: Triple = GREY
    ground: Triple = GREY
    haze: float = 1.0


@dataclass(frozen=True, slots=True)
class SurfaceLook:
    """Factors of the materials' albedo (R, G, B), and of the ground's textures.

    `texture_scale` multiplies the textures' frequency, `texture_contrast` their contrast, `wear` the share of worn-off
    lane paint, `tracks` the darkness of wheel tracks. `shift` (0 to 1) moves the textures along and across.
    """

    asphalt: Triple = GREY
    white_paint: Triple = GREY
    yellow_paint: Triple = GREY
    pavement: Triple = GREY
    stone: Triple = GREY
    meadow: Triple = GREY
    soil: Triple = GREY
    facade: Triple = GREY
    leaves: Triple = GREY
    metal: Triple = GREY
    texture_scale: float = 1.0
    texture_contrast: float = 1.0
    wear: float = 1.0
    tracks: float = 1.0
    shift: tuple[float, float] = (0.0, 0.0)

    def of(self, material: Material) -> Triple:
        """Factor of a ground material's albedo."""
        return {
            Material.ASPHALT: self.asphalt,
            Material.ASPHALT_PLAIN: self.asphalt,
            Material.MARKING_WHITE: self.white_paint,
            Material.CROSSWALK: self.white_paint,
            Material.MARKING_YELLOW: self.yellow_paint,
            Material.PAVEMENT: self.pavement,
            Material.KERB: self.stone,
            Material.CONCRETE: self.stone,
            Material.GRASS: self.meadow,
            Material.GRASS_FAR: self.meadow,
            Material.HILL: self.meadow,
            Material.SOIL: self.soil,
        }.get(material, GREY)


@dataclass(frozen=True, slots=True)
class HeadLook:
    """A kind of signal head: linear colours of housing, back plate and its border, the visor's form, and the lamps.

    `plate` and `border` are None where the head has none. `visor` is "hood", "tunnel" or "none". `lamps` are the
    colours of green, yellow and red; a lamp's middle is `core` (0 to 1) of the way to that of an overexposed lamp
    (signal_heads.py). `gain` multiplies the light of lit lamps.
    """

    housing: Triple = (0.030, 0.034, 0.030)
    plate: Triple | None = (0.014, 0.014, 0.015)
    border: Triple | None = None
    visor: str = "hood"
    lamps: tuple[Triple, Triple, Triple] = ((0.006, 0.80, 0.13), (1.0, 0.15, 0.003), (1.0, 0.012, 0.006))
    radius: float = 0.26
    core: float = 0.0
    gain: float = 1.0


@dataclass(frozen=True, slots=True)
class VehicleLook:
    """Finish of vehicles: reflectance of paint and glass, saturation and brightness of paint and glass, lamps' gain."""

    paint_gloss: float = 0.05
    paint_saturation: float = 1.0
    paint_gain: float = 1.0
    glass_gloss: float = 0.09
    glass_gain: float = 1.0
    lamp_gain: float = 1.0


@dataclass(frozen=True, slots=True)
class Look:
    """All that a look changes. `Look()` is the default look."""

    seed: int = 0
    camera: CameraLook = field(default_factory=CameraLook)
    light: LightLook = field(default_factory=LightLook)
    surfaces: SurfaceLook = field(default_factory=SurfaceLook)
    heads: HeadLook = field(default_factory=HeadLook)
    vehicles: VehicleLook = field(default_factory=VehicleLook)

    @property
    def is_default(self) -> bool:
        return self.seed == 0

    def block(self) -> NDArray[np.float32]:
        """(6, 4) float32: the uniform block of shaders/look.glsl."""
        camera, vehicles, surfaces = self.camera, self.vehicles, self.surfaces
        offset = 0.45 * (1.0 - camera.contrast) + camera.lift
        rows = (
            (*camera.gain, surfaces.texture_scale),
            camera.curve,
            (camera.saturation, camera.contrast, offset, camera.vignette),
            (camera.bloom, camera.sharpening, camera.fringe_px, camera.smoothing),
            (vehicles.paint_gloss, vehicles.paint_saturation, vehicles.paint_gain, vehicles.glass_gloss),
            (self.heads.gain, vehicles.lamp_gain, vehicles.glass_gain, surfaces.tracks),
        )
        return np.array(rows, dtype=np.float32)


@cache
def look_of(seed: int) -> Look:
    """The look of `seed`; 0 is the default look. Deterministic: each part has a random stream of its own."""
    if seed == 0:
        return Look()
    camera, light, surfaces, heads, vehicles = (_Draw(seed, part) for part in range(5))
    return Look(
        seed, _camera(camera), _light(light), _surfaces(surfaces), _heads(heads),
        VehicleLook(
            vehicles.uniform(0.02, 0.10), vehicles.uniform(0.55, 1.25), vehicles.ratio(1.5),
            vehicles.uniform(0.04, 0.30), vehicles.ratio(2.5), vehicles.ratio(1.8),
        ),
    )  # fmt: skip


class _Draw:
    """Random numbers of one part of a look."""

    def __init__(self, seed: int, part: int) -> None:
        self._rng = np.random.default_rng([seed, part])

    def uniform(self, low: float, high: float) -> float:
        return float(self._rng.uniform(low, high))

    def ratio(self, most: float) -> float:
        """A factor between 1 / `most` and `most`, even in its logarithm."""
        return self.between(1.0 / most, most)

    def between(self, low: float, high: float) -> float:
        """A factor between two, even in its logarithm."""
        return float(np.exp(self._rng.uniform(np.log(low), np.log(high))))

    def sometimes(self, share: float, low: float, high: float) -> float:
        """Uniform in a `share` of the draws, otherwise 0."""
        value = self.uniform(low, high)
        return value if self._rng.uniform() < share else 0.0

    def tint(self, spread: float) -> Triple:
        """Factors around 1 of mean 1 that change the hue."""
        factors = np.exp(self._rng.normal(0.0, spread, 3))
        return _triple(factors / factors.mean())

    def tinted(self, low: float, high: float, spread: float) -> Triple:
        """A brightness between two, with a hue of its own."""
        return _triple(self.between(low, high) * np.array(self.tint(spread)))

    def pick(self, shares: tuple[float, ...]) -> int:
        return int(self._rng.choice(len(shares), p=shares))


def _triple(values: NDArray[np.float64]) -> Triple:
    return float(values[0]), float(values[1]), float(values[2])


def _camera(draw: _Draw) -> CameraLook:
    """A camera with bloom, colour fringes or neither; both together would cost more than a tenth of a picture."""
    look = CameraLook(
        gain=draw.tinted(0.7, 1.3, 0.05),
        curve=fit_curve(film=draw.uniform(0.0, 1.0), gamma=draw.uniform(2.0, 2.5)),
        saturation=draw.uniform(0.6, 1.25),
        contrast=draw.uniform(0.85, 1.12),
        lift=draw.uniform(-0.02, 0.04),
        bloom=draw.sometimes(0.7, 0.1, 0.7),
        vignette=draw.sometimes(0.5, 0.05, 0.30),
        sharpening=draw.uniform(-0.3, 0.7),
        fringe_px=draw.sometimes(0.4, 0.2, 0.9),
        smoothing=draw.uniform(0.3, 1.3),
    )
    return replace(look, fringe_px=0.0) if look.bloom > 0.0 else look


def _light(draw: _Draw) -> LightLook:
    sky = draw.tinted(0.7, 1.5, 0.05)
    return LightLook(draw.uniform(0.75, 1.15), sky, draw.tinted(0.6, 2.0, 0.06), draw.between(0.5, 2.5))


def _surfaces(draw: _Draw) -> SurfaceLook:
    return SurfaceLook(
        asphalt=draw.tinted(0.75, 2.7, 0.03),
        white_paint=draw.tinted(0.6, 1.1, 0.02),
        yellow_paint=draw.tinted(0.6, 1.15, 0.06),
        pavement=draw.tinted(0.6, 1.6, 0.06),
        stone=draw.tinted(0.6, 1.4, 0.05),
        meadow=draw.tinted(0.6, 1.9, 0.15),
        soil=draw.tinted(0.6, 1.5, 0.10),
        facade=draw.tinted(0.6, 1.3, 0.12),
        leaves=draw.tinted(0.6, 1.8, 0.15),
        metal=draw.tinted(0.35, 2.2, 0.05),
        texture_scale=draw.ratio(1.8),
        texture_contrast=draw.uniform(0.25, 1.3),
        wear=draw.uniform(0.2, 2.2),
        tracks=draw.uniform(0.0, 1.6),
        shift=(draw.uniform(0.0, 1.0), draw.uniform(0.0, 1.0)),
    )


HOUSINGS: tuple[Triple, ...] = ((0.014, 0.014, 0.015), (0.55, 0.30, 0.010), (0.012, 0.040, 0.022), (0.13, 0.135, 0.14))
"""Linear colours of signal housings: black, yellow, dark green, grey."""


def _heads(draw: _Draw) -> HeadLook:
    housing = HOUSINGS[draw.pick((0.35, 0.35, 0.2, 0.1))]
    has_plate, has_border = draw.uniform(0.0, 1.0) < 0.5, draw.uniform(0.0, 1.0) < 0.3
    own = draw.uniform(0.0, 1.0) < 0.3
    plate: Triple | None = (housing if own else HOUSINGS[0]) if has_plate else None
    border: Triple | None = (0.70, 0.52, 0.02) if has_plate and has_border else None
    green = (0.006, draw.uniform(0.65, 0.9), draw.uniform(0.08, 0.50))
    yellow = (1.0, draw.uniform(0.14, 0.40), draw.uniform(0.003, 0.03))
    red = (1.0, draw.uniform(0.006, 0.03), draw.uniform(0.004, 0.02))
    visor = ("hood", "tunnel", "none")[draw.pick((0.5, 0.3, 0.2))]
    return HeadLook(
        housing, plate, border, visor, (green, yellow, red), draw.uniform(0.20, 0.28), draw.sometimes(0.6, 0.03, 0.20),
        draw.between(0.6, 1.3),
    )  # fmt: skip
