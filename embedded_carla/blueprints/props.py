"""Static props, triggers and the walkers' controller."""

from __future__ import annotations

from embedded_carla.blueprints.attributes import choice, fixed, free, role_name
from embedded_carla.types import Blueprint, BoundingBox, Vector3

_HALF_SIZES_M: dict[str, Vector3] = {
    "advertisement": (0.15, 0.90, 1.50),
    "atm": (0.35, 0.45, 0.85),
    "barbeque": (0.45, 0.30, 0.55),
    "barrel": (0.35, 0.35, 0.50),
    "bench01": (0.30, 0.90, 0.45),
    "bench02": (0.30, 0.90, 0.45),
    "bench03": (0.25, 0.80, 0.25),
    "bike helmet": (0.11, 0.14, 0.09),
    "bikeparking": (0.30, 0.90, 0.40),
    "bin": (0.35, 0.35, 0.60),
    "box01": (0.30, 0.30, 0.30),
    "box02": (0.40, 0.40, 0.40),
    "box03": (0.25, 0.35, 0.20),
    "briefcase": (0.10, 0.25, 0.20),
    "brokentile01": (0.30, 0.30, 0.02),
    "brokentile02": (0.25, 0.30, 0.02),
    "brokentile03": (0.20, 0.25, 0.02),
    "brokentile04": (0.15, 0.20, 0.02),
    "busstop": (0.90, 2.00, 1.30),
    "busstoplb": (0.90, 2.00, 1.30),
    "calibrator": (0.05, 0.50, 0.75),
    "chainbarrier": (0.05, 1.00, 0.45),
    "chainbarrierend": (0.05, 0.10, 0.45),
    "clothcontainer": (0.55, 0.60, 0.90),
    "clothesline": (0.60, 1.50, 0.90),
    "colacan": (0.04, 0.04, 0.06),
    "constructioncone": (0.17, 0.17, 0.29),
    "container": (0.55, 0.85, 0.65),
    "creasedbox01": (0.40, 0.40, 0.10),
    "creasedbox02": (0.35, 0.40, 0.12),
    "creasedbox03": (0.30, 0.35, 0.15),
    "dirtdebris01": (0.80, 0.80, 0.05),
    "dirtdebris02": (1.00, 0.90, 0.08),
    "dirtdebris03": (1.20, 1.10, 0.10),
    "doghouse": (0.45, 0.35, 0.40),
    "foodcart": (0.80, 1.30, 1.20),
    "fountain": (2.00, 2.00, 1.50),
    "garbage01": (0.40, 0.40, 0.15),
    "garbage02": (0.10, 0.10, 0.08),
    "garbage03": (0.25, 0.25, 0.10),
    "garbage04": (0.30, 0.25, 0.12),
    "garbage05": (0.35, 0.30, 0.15),
    "garbage06": (0.15, 0.15, 0.08),
    "gardenlamp": (0.12, 0.12, 0.40),
    "glasscontainer": (0.75, 0.75, 0.85),
    "gnome": (0.10, 0.10, 0.20),
    "guitarcase": (0.20, 0.60, 0.10),
    "haybale": (0.60, 0.75, 0.60),
    "haybalelb": (0.60, 0.75, 0.60),
    "ironplank": (0.60, 1.20, 0.02),
    "kiosk_01": (1.20, 1.20, 1.30),
    "mailbox": (0.30, 0.30, 0.60),
    "maptable": (0.40, 0.70, 0.55),
    "mobile": (0.04, 0.08, 0.01),
    "motorhelmet": (0.13, 0.13, 0.13),
    "pergola": (1.60, 1.60, 1.30),
    "plantpot01": (0.50, 0.50, 0.45),
    "plantpot02": (0.40, 0.40, 0.50),
    "plantpot03": (0.35, 0.90, 0.40),
    "plantpot04": (0.30, 0.30, 0.40),
    "plantpot05": (0.25, 0.25, 0.30),
    "plantpot06": (0.45, 0.45, 0.60),
    "plantpot07": (0.20, 0.20, 0.25),
    "plantpot08": (0.30, 0.60, 0.30),
    "plasticbag": (0.18, 0.18, 0.20),
    "plasticchair": (0.28, 0.28, 0.42),
    "plastictable": (0.45, 0.45, 0.36),
    "platformgarbage01": (0.60, 0.80, 0.35),
    "purse": (0.08, 0.16, 0.14),
    "shoppingbag": (0.09, 0.16, 0.20),
    "shoppingcart": (0.30, 0.50, 0.50),
    "shoppingtrolley": (0.20, 0.22, 0.50),
    "slide": (0.50, 1.60, 1.00),
    "streetbarrier": (0.25, 0.70, 0.50),
    "streetfountain": (0.25, 0.25, 0.50),
    "streetsign": (0.05, 0.30, 1.20),
    "streetsign01": (0.05, 0.35, 1.30),
    "streetsign04": (0.05, 0.40, 1.40),
    "swing": (1.00, 1.60, 1.10),
    "swingcouch": (0.70, 1.00, 0.90),
    "table": (0.60, 0.60, 0.40),
    "trafficcone01": (0.20, 0.20, 0.35),
    "trafficcone02": (0.20, 0.20, 0.35),
    "trafficwarning": (1.10, 0.90, 1.50),
    "trampoline": (1.50, 1.50, 0.50),
    "trashbag": (0.35, 0.35, 0.35),
    "trashcan01": (0.30, 0.30, 0.55),
    "trashcan02": (0.30, 0.30, 0.50),
    "trashcan03": (0.25, 0.25, 0.45),
    "trashcan04": (0.30, 0.35, 0.60),
    "trashcan05": (0.35, 0.35, 0.60),
    "travelcase": (0.15, 0.25, 0.40),
    "vendingmachine": (0.45, 0.55, 1.00),
    "warningaccident": (0.20, 0.45, 0.45),
    "warningconstruction": (0.20, 0.45, 0.45),
    "wateringcan": (0.10, 0.20, 0.15),
}
"""Every prop of CARLA 0.9.16's catalogue, with the size of such a thing."""


def _prop(name: str, half: Vector3) -> Blueprint:
    size = "tiny" if max(half) < 0.15 else "small" if max(half) < 0.4 else "medium" if max(half) < 1.5 else "big"
    attributes = (role_name("prop"), fixed("size", "string", size))
    box = BoundingBox((0.0, 0.0, half[2]), half)
    return Blueprint(f"static.prop.{name}", ("static", "prop", name), attributes, box)


def prop_blueprints() -> list[Blueprint]:
    props = [_prop(name, half) for name, half in _HALF_SIZES_M.items()]
    mesh = Blueprint(
        "static.prop.mesh",
        ("static", "prop", "mesh"),
        (
            role_name("prop"),
            free("mesh_path", "string", ""),
            free("mass", "float", "0.0"),
            free("scale", "float", "1.0"),
        ),
    )
    friction = Blueprint(
        "static.trigger.friction",
        ("static", "trigger", "friction"),
        (
            role_name("trigger"),
            free("friction", "float", "3.5"),
            free("extent_x", "float", "500.0"),
            free("extent_y", "float", "500.0"),
            free("extent_z", "float", "500.0"),
        ),
    )
    controller = Blueprint(
        "controller.ai.walker", ("controller", "ai", "walker"), (choice("role_name", "string", ("default",)),)
    )
    blank = Blueprint("util.actor.empty", ("util", "actor", "empty"), (role_name("empty"),))
    return [*props, mesh, friction, controller, blank]
