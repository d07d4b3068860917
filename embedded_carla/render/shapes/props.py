"""Props of the blueprint library as unit shapes (x, y in -0.5..0.5, z in 0..1), by families of CARLA's names."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from embedded_carla.render.shapes.geometry import Colour, Point, Shape, ShapeBuilder
from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.prop_trees import tree

WHITE = (0.72, 0.72, 0.72)
BLACK = (0.02, 0.02, 0.022)
DARK = (0.06, 0.06, 0.065)
STEEL = (0.30, 0.31, 0.33)
WOOD = (0.26, 0.13, 0.06)
ORANGE = (0.80, 0.16, 0.02)
RED = (0.50, 0.02, 0.02)
GREEN = (0.03, 0.16, 0.06)
BLUE = (0.03, 0.09, 0.30)
CARDBOARD = (0.34, 0.22, 0.12)
CLAY = (0.40, 0.16, 0.08)
LEAF = (0.06, 0.11, 0.03)


def prop(name: str, turned: bool = False) -> Shape:
    """The shape of a prop by CARLA's name ("trafficcone01"); a crate for names without a shape of their own.

    Long props lie along y with their front at +x; if `turned`, along x with their front at +y.
    """
    b = ShapeBuilder()
    make = next((make for words, make in FAMILIES if any(word in name for word in words)), _crate)
    make(b, name)
    shape = b.build()
    if not turned:
        return shape
    x, y = np.array([0, 3]), np.array([1, 4])  # columns of position and normal
    vertices = shape.vertices.copy()
    vertices[:, x], vertices[:, y] = -shape.vertices[:, y], shape.vertices[:, x]
    return Shape(vertices, shape.triangles)


def _full(b: ShapeBuilder, low: Point, high: Point, colour: Colour) -> None:
    b.box(low, high, colour, bottom=True)


def _crate(b: ShapeBuilder, name: str) -> None:
    colour = {"case": BLACK, "container": (0.05, 0.13, 0.10), "purse": (0.25, 0.04, 0.05), "shoppingbag": WHITE}.get(
        next((k for k in ("case", "container", "purse", "shoppingbag") if k in name), ""), CARDBOARD
    )
    _full(b, (-0.5, -0.5, 0.0), (0.5, 0.5, 0.93), colour)
    lid = tuple(min(1.25 * c, 1.0) for c in colour)
    _full(b, (-0.5, -0.5, 0.93), (0.5, 0.5, 1.0), (lid[0], lid[1], lid[2]))
    _full(b, (-0.503, -0.06, 0.2), (0.503, 0.06, 0.8), (0.5, 0.42, 0.28) if colour == CARDBOARD else STEEL)


def _cone(b: ShapeBuilder, name: str) -> None:
    """A traffic cone with two white bands."""
    b.box((-0.5, -0.5, 0.0), (0.5, 0.5, 0.06), BLACK)
    bands = ((0.06, 0.36), (0.36, 0.52), (0.52, 0.64), (0.64, 0.80), (0.80, 1.0))
    for k, (z0, z1) in enumerate(bands):
        r0, r1 = (0.38 - 0.33 * (z - 0.06) / 0.94 for z in (z0, z1))
        b.tube((0.0, 0.0, z0), (0.0, 0.0, z1), r0, r1, 10, WHITE if k in (1, 3) else ORANGE, caps=k == 4)


def _bench(b: ShapeBuilder, name: str) -> None:
    """Slats along y on cast-iron legs."""
    for x in (-0.42, -0.10, 0.22):
        _full(b, (x, -0.5, 0.45), (x + 0.26, 0.5, 0.51), WOOD)
    for z in (0.62, 0.82):
        _full(b, (-0.50, -0.5, z), (-0.43, 0.5, z + 0.15), WOOD)
    for y in (-0.42, 0.36):
        b.box((-0.48, y, 0.0), (-0.40, y + 0.05, 1.0), BLACK)
        b.box((-0.45, y, 0.0), (0.45, y + 0.05, 0.45), BLACK)


def _table(b: ShapeBuilder, name: str) -> None:
    colour = WHITE if "plastic" in name else WOOD
    _full(b, (-0.5, -0.5, 0.93), (0.5, 0.5, 1.0), colour)
    for x in (-0.42, 0.34):
        for y in (-0.42, 0.34):
            b.box((x, y, 0.0), (x + 0.08, y + 0.08, 0.93), colour)


def _chair(b: ShapeBuilder, name: str) -> None:
    _full(b, (-0.5, -0.5, 0.46), (0.5, 0.5, 0.52), WHITE)
    _full(b, (-0.5, -0.5, 0.52), (-0.42, 0.5, 1.0), WHITE)
    for x in (-0.48, 0.40):
        for y in (-0.48, 0.40):
            b.box((x, y, 0.0), (x + 0.08, y + 0.08, 0.46), WHITE)


def _bin(b: ShapeBuilder, name: str) -> None:
    colour = (GREEN, DARK, BLUE, STEEL, (0.22, 0.08, 0.04))[sum(name.encode()) % 5]
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.88), 0.42, 0.48, 12, colour)
    b.tube((0.0, 0.0, 0.86), (0.0, 0.0, 0.92), 0.5, 0.5, 12, DARK, caps=True)
    b.tube((0.0, 0.0, 0.92), (0.0, 0.0, 1.0), 0.46, 0.20, 12, colour, caps=True)


def _barrel(b: ShapeBuilder, name: str) -> None:
    for z0, z1, r, colour in (
        (0.0, 0.30, 0.48, ORANGE),
        (0.30, 0.48, 0.48, WHITE),
        (0.48, 0.70, 0.48, ORANGE),
        (0.70, 1.0, 0.46, WHITE),
    ):
        b.tube((0.0, 0.0, z0), (0.0, 0.0, z1), r, r, 14, colour, caps=z1 == 1.0)
    for z in (0.02, 0.5, 0.96):
        b.tube((0.0, 0.0, z), (0.0, 0.0, z + 0.03), 0.5, 0.5, 14, ORANGE)


def _heap(b: ShapeBuilder, name: str) -> None:
    colour = DARK if "bag" in name else (0.16, 0.12, 0.08) if "dirt" in name else (0.20, 0.20, 0.19)
    for k, (x, y, r) in enumerate(((0.0, 0.0, 0.40), (-0.2, 0.22, 0.27), (0.24, -0.18, 0.25), (0.15, 0.28, 0.20))):
        b.blob((x, y, 0.42 * r / 0.4), (r, r, 0.5 * r / 0.4), 4, 7, colour, 0.16, k)
    if name == "trashbag":
        b.tube((0.0, 0.0, 0.85), (0.0, 0.0, 1.0), 0.05, 0.12, 6, colour, caps=True)


def _flat(b: ShapeBuilder, name: str) -> None:
    turn = np.linspace(0.0, 2 * np.pi, 9, endpoint=False)
    reach = 0.34 + 0.16 * np.random.default_rng(sum(name.encode())).random(9)
    colour = STEEL if "iron" in name else CARDBOARD if "box" in name else (0.34, 0.30, 0.27)
    rim = [(float(r * np.cos(a)), float(r * np.sin(a))) for r, a in zip(reach, turn, strict=True)]
    b.polygon([(x, y, 1.0) for x, y in rim], colour)
    for (x0, y0), (x1, y1) in zip(rim, [*rim[1:], rim[0]], strict=True):
        b.polygon([(x0, y0, 0.0), (x1, y1, 0.0), (x1, y1, 1.0), (x0, y0, 1.0)], colour)


def _bus_stop(b: ShapeBuilder, name: str) -> None:
    """A shelter open to +x: glass back, side board, roof, bench."""
    _full(b, (-0.5, -0.5, 0.94), (0.5, 0.5, 1.0), DARK)
    for y in (-0.48, 0.0, 0.45):
        b.box((-0.48, y, 0.0), (-0.42, y + 0.03, 0.94), STEEL)
    for y in (-0.48, 0.45):
        b.box((0.36, y, 0.0), (0.42, y + 0.03, 0.94), STEEL)
    b.part = Part.GLASS
    _full(b, (-0.47, -0.46, 0.10), (-0.45, 0.46, 0.88), (0.10, 0.13, 0.13))
    b.part = Part.FIXED
    _full(b, (-0.42, 0.44, 0.08), (0.36, 0.49, 0.84), (0.55, 0.48, 0.30))
    _full(b, (-0.36, -0.35, 0.18), (-0.10, 0.25, 0.21), WOOD)
    for y in (-0.30, 0.18):
        b.box((-0.26, y, 0.0), (-0.20, y + 0.03, 0.18), STEEL)
    _full(b, (0.40, -0.40, 0.86), (0.46, 0.10, 0.94), BLUE)


def _barrier(b: ShapeBuilder, name: str) -> None:
    """Red and white boards on feet."""
    for z in (0.42, 0.74):
        for k in range(6):
            y = -0.5 + k / 6
            _full(b, (-0.10, y, z), (0.10, y + 1 / 6, z + 0.24), RED if k % 2 == 0 else WHITE)
    for y in (-0.40, 0.34):
        b.box((-0.5, y, 0.0), (0.5, y + 0.06, 0.08), DARK)
        b.box((-0.08, y, 0.08), (0.08, y + 0.06, 1.0), DARK)


def _chain(b: ShapeBuilder, name: str) -> None:
    ends = (0.0,) if name.endswith("end") else (-0.46, 0.46)
    for y in ends:
        half = 0.3 if len(ends) == 1 else 0.04
        b.prism((-0.3, 0.3), (y - half, y + half), 0.0, (-0.3, 0.3), (y - half, y + half), 0.94, DARK)
        b.blob((0.0, y, 0.95), (0.45, 0.04 if len(ends) > 1 else 0.4, 0.05), 4, 8, DARK)
    if len(ends) > 1:
        at = np.linspace(-0.46, 0.46, 8)
        for y0, y1 in itertools.pairwise(at):
            z0, z1 = (0.55 + 0.30 * (2 * y) ** 2 for y in (y0, y1))
            b.tube((0.0, float(y0), z0), (0.0, float(y1), z1), 0.12, 0.12, 4, STEEL)


def _warning(b: ShapeBuilder, name: str) -> None:
    """A red-rimmed triangle on a stand; the prop "trafficwarning" is a trailer with a lit arrow."""
    if name == "trafficwarning":
        _full(b, (-0.5, -0.42, 0.10), (0.3, 0.42, 0.24), ORANGE)
        for x in (-0.20, 0.10):
            b.tube((x, -0.5, 0.10), (x, 0.5, 0.10), 0.09, 0.09, 10, BLACK, caps=True)
        _full(b, (-0.06, -0.06, 0.24), (0.06, 0.06, 0.60), STEEL)
        _full(b, (-0.08, -0.5, 0.52), (0.04, 0.5, 1.0), BLACK)
        b.part = Part.STREET_LAMP
        for y, z in (
            (-0.36, 0.76),
            (-0.24, 0.86),
            (-0.24, 0.66),
            (-0.12, 0.76),
            (0.02, 0.76),
            (0.16, 0.76),
            (0.30, 0.76),
        ):
            b.polygon(
                [
                    (-0.085, y + 0.045, z - 0.035),
                    (-0.085, y - 0.045, z - 0.035),
                    (-0.085, y - 0.045, z + 0.035),
                    (-0.085, y + 0.045, z + 0.035),
                ],
                (0.9, 0.5, 0.05),
            )
        b.part = Part.FIXED
        return
    ground = ORANGE if "construction" in name else WHITE
    for x, s, colour in ((0.0, 1.0, RED), (0.06, 0.72, ground)):
        low, half, high = 0.12 + 0.30 * (1 - s), 0.5 * s, 0.12 + 0.30 * (1 - s) + 0.86 * s
        for side in (1.0, -1.0):
            face = [(side * (x + 0.02), -half, low), (side * (x + 0.02), half, low), (side * (x + 0.02), 0.0, high)]
            b.polygon(face if side > 0 else face[::-1], colour)
    for side in (0.09, -0.09):
        face = [(side, -0.04, 0.34), (side, 0.04, 0.34), (side, 0.05, 0.62), (side, -0.05, 0.62)]
        b.polygon(face if side > 0 else face[::-1], BLACK)
    b.box((-0.5, -0.35, 0.0), (0.5, -0.25, 0.12), DARK)
    b.box((-0.5, 0.25, 0.0), (0.5, 0.35, 0.12), DARK)


def _street_sign(b: ShapeBuilder, name: str) -> None:
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.30, 0.30, 6, STEEL, caps=True)
    _full(b, (-0.5, -0.5, 0.74), (0.5, 0.5, 0.98), GREEN if name == "streetsign" else BLUE)
    _full(b, (-0.55, -0.38, 0.83), (0.55, 0.38, 0.89), WHITE)


def _machine(b: ShapeBuilder, name: str) -> None:
    """A cabinet with a display front at +x."""
    body = {"vending": RED, "atm": BLUE, "mailbox": BLUE, "advert": DARK, "kiosk": GREEN}.get(
        next((k for k in ("vending", "atm", "mailbox", "advert", "kiosk") if k in name), ""), STEEL
    )
    if "mailbox" in name:
        _full(b, (-0.42, -0.46, 0.0), (0.42, 0.46, 0.80), body)
        b.tube((-0.42, 0.0, 0.78), (0.42, 0.0, 0.78), 0.22, 0.22, 10, body, caps=True)
        _full(b, (0.42, -0.3, 0.62), (0.46, 0.3, 0.68), BLACK)
        return
    _full(b, (-0.5, -0.5, 0.0), (0.46, 0.5, 1.0), body)
    low, high = (0.10, 0.94) if "advert" in name else (0.42, 0.88)
    front = [(0.47, -0.42, low), (0.47, 0.42, low), (0.47, 0.42, high), (0.47, -0.42, high)]
    b.part = Part.LACQUER if "advert" in name else Part.GLASS
    b.polygon(front, (0.45, 0.30, 0.42) if "advert" in name else (0.12, 0.14, 0.15))
    b.part = Part.FIXED
    if "kiosk" in name:
        _full(b, (0.40, -0.5, 0.86), (0.5, 0.5, 0.93), WHITE)


def _cart(b: ShapeBuilder, name: str) -> None:
    """A food cart with wheels and an awning, or a wire shopping cart."""
    if name == "foodcart":
        _full(b, (-0.4, -0.4, 0.14), (0.4, 0.4, 0.48), RED)
        for y in (-0.25, 0.25):
            b.tube((-0.45, y, 0.12), (0.45, y, 0.12), 0.12, 0.12, 12, BLACK, caps=True)
        for x in (-0.38, 0.36):
            for y in (-0.38, 0.36):
                b.box((x, y, 0.48), (x + 0.02, y + 0.02, 0.90), STEEL)
        for k in range(6):
            y = -0.5 + k / 6
            b.prism((-0.5, 0.5), (y, y + 1 / 6), 0.88, (-0.2, 0.2), (y, y + 1 / 6), 1.0, RED if k % 2 else WHITE, True)
        return
    for z in (0.45, 0.62, 0.80):
        for x in (-0.45, 0.42):
            _full(b, (x, -0.5, z), (x + 0.03, 0.4, z + 0.02), STEEL)
        for y in (-0.5, 0.38):
            _full(b, (-0.45, y, z), (0.45, y + 0.02, z + 0.02), STEEL)
    for y in np.linspace(-0.48, 0.38, 8):
        for x in (-0.45, 0.44):
            b.box((x, float(y), 0.45), (x + 0.01, float(y) + 0.01, 0.82), STEEL)
    _full(b, (-0.45, -0.5, 0.44), (0.45, 0.4, 0.46), STEEL)
    for x in (-0.40, 0.36):
        for y in (-0.42, 0.34):
            b.box((x, y, 0.08), (x + 0.03, y + 0.02, 0.44), STEEL)
            _full(b, (x - 0.02, y - 0.05, 0.0), (x + 0.05, y + 0.05, 0.10), BLACK)
    _full(b, (-0.45, 0.46, 0.95), (0.45, 0.5, 1.0), RED)


def _pot(b: ShapeBuilder, name: str) -> None:
    colour = (CLAY, (0.35, 0.34, 0.32), DARK)[sum(name.encode()) % 3]
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.45), 0.30, 0.42, 10, colour)
    b.tube((0.0, 0.0, 0.42), (0.0, 0.0, 0.48), 0.45, 0.45, 10, colour, caps=True)
    for k, (x, y, z) in enumerate(((0.0, 0.0, 0.76), (0.2, 0.12, 0.66), (-0.18, 0.16, 0.70), (0.02, -0.22, 0.68))):
        b.blob((x, y, z), (0.26, 0.26, 0.22), 4, 7, LEAF, 0.2, k, 0.5)


def _fountain(b: ShapeBuilder, name: str) -> None:
    stone = (0.42, 0.40, 0.37)
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.25), 0.5, 0.5, 16, stone)
    b.tube((0.0, 0.0, 0.20), (0.0, 0.0, 0.21), 0.45, 0.45, 16, (0.06, 0.10, 0.12), caps=True)
    b.tube((0.0, 0.0, 0.2), (0.0, 0.0, 0.85), 0.10, 0.06, 10, stone)
    b.tube((0.0, 0.0, 0.55), (0.0, 0.0, 0.65), 0.06, 0.28, 14, stone, caps=True)
    b.tube((0.0, 0.0, 0.85), (0.0, 0.0, 1.0), 0.12, 0.02, 10, stone, caps=True)


def _bale(b: ShapeBuilder, name: str) -> None:
    b.tube((0.0, -0.5, 0.5), (0.0, 0.5, 0.5), 0.5, 0.5, 16, (0.42, 0.30, 0.10), caps=True)


def _helmet(b: ShapeBuilder, name: str) -> None:
    b.part = Part.LACQUER
    b.blob((0.0, 0.0, 0.5), (0.5, 0.5, 0.5), 6, 10, RED if "motor" in name else WHITE)


def _frame(b: ShapeBuilder, name: str) -> None:
    """Two trestles and a beam: swings, pergolas, clothes lines, bicycle stands."""
    for y in (-0.48, 0.44):
        for x0 in (-0.48, 0.42):
            b.tube((x0, y, 0.0), (0.4 * x0, y, 0.97), 0.03, 0.03, 6, WOOD if "pergola" in name else STEEL)
    _full(b, (-0.24, -0.5, 0.95), (0.24, 0.5, 1.0), WOOD if "pergola" in name else STEEL)
    if "swing" in name:
        _full(b, (-0.14, -0.2, 0.28), (0.14, 0.2, 0.33), WOOD)
        for y in (-0.19, 0.17):
            b.box((-0.01, y, 0.33), (0.01, y + 0.02, 0.95), STEEL)


def _slide(b: ShapeBuilder, name: str) -> None:
    b.skin(
        np.array([[(-0.4, -0.5, 0.05), (0.4, -0.5, 0.05), (0.4, 0.3, 0.88), (-0.4, 0.3, 0.88)]]),
        (0.6, 0.4, 0.03),
        Part.FIXED,
    )
    for x in (-0.42, 0.36):
        b.skin(np.array([[(x, -0.5, 0.02), (x, 0.3, 0.82), (x, 0.3, 1.0), (x, -0.5, 0.16)]]), RED, Part.FIXED)
        b.skin(np.array([[(x, -0.5, 0.16), (x, 0.3, 1.0), (x, 0.3, 0.82), (x, -0.5, 0.02)]]), RED, Part.FIXED)
        b.box((x, 0.42, 0.0), (x + 0.06, 0.5, 1.0), BLUE)
    for z in (0.15, 0.35, 0.55, 0.75):
        _full(b, (-0.42, 0.44, z), (0.42, 0.48, z + 0.04), BLUE)


def _trampoline(b: ShapeBuilder, name: str) -> None:
    b.tube((0.0, 0.0, 0.8), (0.0, 0.0, 1.0), 0.5, 0.5, 18, BLUE)
    b.tube((0.0, 0.0, 0.94), (0.0, 0.0, 0.96), 0.44, 0.44, 18, BLACK, caps=True)
    for a in np.linspace(0, 2 * np.pi, 6, endpoint=False):
        x, y = 0.45 * float(np.cos(a)), 0.45 * float(np.sin(a))
        b.box((x - 0.02, y - 0.02, 0.0), (x + 0.02, y + 0.02, 0.85), STEEL)


def _figure(b: ShapeBuilder, name: str) -> None:
    """A slender object with a head: garden lamps, gnomes, cans."""
    colour = RED if name in ("gnome", "colacan") else DARK
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.7), 0.45, 0.30, 10, colour, caps=True)
    b.tube(
        (0.0, 0.0, 0.7),
        (0.0, 0.0, 1.0),
        0.40,
        0.06 if name == "gnome" else 0.38,
        10,
        WHITE if name == "gardenlamp" else colour,
        caps=True,
    )


FAMILIES: tuple[tuple[tuple[str, ...], Callable[[ShapeBuilder, str], None]], ...] = (
    (("cone",), _cone),
    (("aporosatree", "coconutpalm", "cypresstree"), tree),
    (("bench", "swingcouch"), _bench),
    (("chair",), _chair),
    (("clothcontainer", "glasscontainer"), _bin),
    (("vending", "atm", "mailbox", "advert", "kiosk", "calibrator", "doghouse"), _machine),
    (("table",), _table),
    (("barrel",), _barrel),
    (("trashcan", "bin"), _bin),
    (("garbage", "trashbag", "plasticbag", "dirt"), _heap),
    (("tile", "plank", "creased", "mobile"), _flat),
    (("busstop",), _bus_stop),
    (("streetbarrier",), _barrier),
    (("chain",), _chain),
    (("warning",), _warning),
    (("streetsign",), _street_sign),
    (("cart", "trolley"), _cart),
    (("plantpot",), _pot),
    (("fountain",), _fountain),
    (("haybale",), _bale),
    (("helmet",), _helmet),
    (("swing", "pergola", "clothesline", "bikeparking"), _frame),
    (("slide",), _slide),
    (("trampoline", "barbeque"), _trampoline),
    (("gardenlamp", "gnome", "colacan", "wateringcan"), _figure),
)
"""Shape functions by substrings of the prop's name; the first match is used."""
