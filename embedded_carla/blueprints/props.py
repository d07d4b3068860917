"""Static props, triggers and the walkers' controller."""

from __future__ import annotations

from embedded_carla.blueprints.attributes import choice, fixed, free, role_name
from embedded_carla.types import Blueprint, BoundingBox, Vector3

_HALF_SIZES_M: dict[str, Vector3] = {
    "advertisement": (0.15, 0.90, 1.50),
    "barbeque": (0.45, 0.30, 0.55),
    "barrel": (0.35, 0.35, 0.50),
    "bench01": (0.30, 0.90, 0.45),
    "bikeparking": (0.30, 0.90, 0.40),
    "bin": (0.35, 0.35, 0.60),
    "box01": (0.30, 0.30, 0.30),
    "box02": (0.40, 0.40, 0.40),
    "briefcase": (0.10, 0.25, 0.20),
    "brokentile01": (0.30, 0.30, 0.02),
    "busstop": (0.90, 2.00, 1.30),
    "chainbarrier": (0.05, 1.00, 0.45),
    "colacan": (0.04, 0.04, 0.06),
    "constructioncone": (0.17, 0.17, 0.29),
    "container": (1.20, 2.40, 1.25),
    "creasedbox01": (0.40, 0.40, 0.10),
    "dirtdebris01": (0.80, 0.80, 0.05),
    "foodcart": (0.80, 1.30, 1.20),
    "fountain": (2.00, 2.00, 1.50),
    "garbage01": (0.40, 0.40, 0.15),
    "gardenlamp": (0.12, 0.12, 0.40),
    "guitarcase": (0.20, 0.60, 0.10),
    "kiosk_01": (1.20, 1.20, 1.30),
    "mailbox": (0.30, 0.30, 0.60),
    "motorhelmet": (0.13, 0.13, 0.13),
    "plantpot01": (0.50, 0.50, 0.45),
    "shoppingcart": (0.30, 0.50, 0.50),
    "slide": (0.50, 1.60, 1.00),
    "streetbarrier": (0.25, 0.70, 0.50),
    "streetsign": (0.05, 0.30, 1.20),
    "table": (0.60, 0.60, 0.40),
    "trafficcone01": (0.20, 0.20, 0.35),
    "trafficcone02": (0.20, 0.20, 0.35),
    "trafficwarning": (1.10, 0.90, 1.50),
    "trampoline": (1.50, 1.50, 0.50),
    "trashbag": (0.35, 0.35, 0.35),
    "trashcan01": (0.30, 0.30, 0.55),
    "travelcase": (0.15, 0.25, 0.40),
    "vendingmachine": (0.45, 0.55, 1.00),
    "warningaccident": (0.20, 0.45, 0.45),
    "warningconstruction": (0.20, 0.45, 0.45),
    "wateringcan": (0.10, 0.20, 0.15),
}


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
