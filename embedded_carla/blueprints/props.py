"""Blueprints of static props, triggers and the walkers' controller."""

from __future__ import annotations

from embedded_carla.blueprints.attributes import choice, fixed, free, role_name
from embedded_carla.types import Blueprint, BoundingBox, Vector3

_HALF_SIZES_M: dict[str, Vector3] = {
    "advertisement": (0.775, 0.143, 1.221),
    "aporosatree": (6.479, 6.292, 7.817),
    "atm": (0.357, 0.437, 1.138),
    "barbeque": (0.473, 0.249, 0.632),
    "barrel": (0.230, 0.236, 0.403),
    "bench01": (0.772, 0.368, 0.485),
    "bench02": (0.782, 0.272, 0.255),
    "bench03": (0.792, 0.256, 0.256),
    "bike helmet": (0.093, 0.139, 0.086),
    "bin": (0.274, 0.319, 0.530),
    "box01": (0.326, 0.326, 0.346),
    "box02": (0.324, 0.324, 0.324),
    "box03": (0.330, 0.335, 0.324),
    "briefcase": (0.272, 0.091, 0.216),
    "brokentile01": (0.067, 0.088, 0.003),
    "brokentile02": (0.105, 0.076, 0.004),
    "brokentile03": (0.077, 0.072, 0.004),
    "brokentile04": (0.065, 0.063, 0.005),
    "busstop": (1.938, 0.947, 1.369),
    "busstoplb": (0.947, 1.938, 1.369),
    "calibrator": (0.774, 0.345, 0.101),
    "chainbarrier": (0.747, 0.119, 0.444),
    "chainbarrierend": (0.119, 0.119, 0.444),
    "clothcontainer": (0.620, 0.943, 0.905),
    "clothesline": (3.326, 0.559, 1.031),
    "coconutpalm": (4.302, 4.443, 10.157),
    "colacan": (0.034, 0.036, 0.055),
    "constructioncone": (0.172, 0.172, 0.293),
    "container": (0.966, 0.506, 0.857),
    "creasedbox01": (0.404, 0.356, 0.059),
    "creasedbox02": (0.817, 0.356, 0.106),
    "creasedbox03": (0.834, 0.356, 0.011),
    "cypresstree": (2.305, 2.314, 7.839),
    "dirtdebris01": (0.929, 0.757, 0.074),
    "dirtdebris02": (0.929, 0.757, 0.074),
    "dirtdebris03": (0.929, 0.757, 0.094),
    "doghouse": (0.540, 0.636, 0.547),
    "foodcart": (1.142, 2.319, 1.787),
    "fountain": (4.201, 4.201, 3.462),
    "garbage01": (0.027, 0.027, 0.043),
    "garbage02": (0.027, 0.027, 0.005),
    "garbage03": (0.030, 0.030, 0.040),
    "garbage04": (0.029, 0.028, 0.034),
    "garbage05": (0.116, 0.116, 0.029),
    "garbage06": (0.183, 0.107, 0.038),
    "gardenlamp": (0.149, 0.141, 0.324),
    "glasscontainer": (0.977, 1.004, 0.894),
    "gnome": (0.183, 0.188, 0.441),
    "guitarcase": (0.621, 0.063, 0.247),
    "haybale": (0.624, 0.597, 0.597),
    "haybalelb": (0.624, 0.597, 0.597),
    "ironplank": (0.726, 0.587, 0.010),
    "kiosk_01": (0.813, 0.827, 1.623),
    "mailbox": (0.263, 0.219, 0.579),
    "maptable": (0.787, 0.309, 0.591),
    "mobile": (0.040, 0.004, 0.083),
    "motorhelmet": (0.100, 0.130, 0.129),
    "pergola": (2.515, 2.543, 1.771),
    "plantpot01": (0.545, 0.238, 0.279),
    "plantpot02": (0.526, 0.215, 0.243),
    "plantpot03": (0.526, 0.215, 0.243),
    "plantpot04": (2.484, 0.368, 0.062),
    "plantpot05": (0.200, 0.200, 0.140),
    "plantpot06": (0.797, 0.797, 0.425),
    "plantpot07": (0.247, 0.238, 0.279),
    "plantpot08": (0.265, 0.265, 0.244),
    "plasticbag": (0.155, 0.201, 0.276),
    "plasticchair": (0.365, 0.375, 0.636),
    "plastictable": (1.241, 1.241, 1.240),
    "platformgarbage01": (1.817, 0.856, 0.166),
    "purse": (0.080, 0.166, 0.293),
    "shoppingbag": (0.237, 0.122, 0.300),
    "shoppingcart": (0.335, 0.604, 0.540),
    "shoppingtrolley": (0.253, 0.166, 0.547),
    "slide": (0.471, 2.061, 0.988),
    "streetbarrier": (0.607, 0.186, 0.535),
    "streetfountain": (0.143, 0.335, 0.630),
    "streetsign": (0.532, 0.063, 1.077),
    "streetsign01": (1.235, 0.151, 1.939),
    "streetsign04": (0.585, 0.062, 1.386),
    "swing": (2.053, 0.788, 1.286),
    "swingcouch": (0.679, 1.181, 1.125),
    "table": (1.078, 1.076, 0.423),
    "trafficcone01": (0.441, 0.441, 0.567),
    "trafficcone02": (0.228, 0.197, 0.591),
    "trafficwarning": (1.187, 1.435, 1.785),
    "trampoline": (2.066, 2.066, 1.401),
    "trashbag": (0.189, 0.215, 0.351),
    "trashcan01": (0.318, 0.284, 0.424),
    "trashcan02": (0.262, 0.257, 0.523),
    "trashcan03": (0.315, 0.273, 0.467),
    "trashcan04": (0.394, 0.290, 0.508),
    "trashcan05": (0.394, 0.290, 0.508),
    "travelcase": (0.284, 0.164, 0.631),
    "vendingmachine": (0.436, 0.551, 1.054),
    "warningaccident": (0.653, 0.528, 0.930),
    "warningconstruction": (0.653, 0.528, 0.930),
    "wateringcan": (0.035, 0.097, 0.067),
}
"""Every prop that a CARLA 0.9.16 server lists, with half the size of the bounding box that it reports, along x, y, z.

Published measurements: tools/carla/snapshots of the Scenic project. The long side of a box may lie along x or y.
"""
TREES = frozenset(f"static.prop.{name}" for name in ("aporosatree", "coconutpalm", "cypresstree"))

# Upper limit, m, of the largest half size. CARLA's definition: tiny is below a mailbox, small a mailbox, medium a
# person, big a bus stop.
_SIZES = (("tiny", 0.45), ("small", 0.7), ("medium", 1.5), ("big", 3.0))


def _prop(name: str, half: Vector3) -> Blueprint:
    size = next((word for word, longest in _SIZES if max(half) < longest), "huge")
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
