"""Blueprints of vehicles: CARLA's names and bounding boxes, with masses of the real models.

Half sizes are those that a CARLA 0.9.16 server reports (published in Scenic's blueprint data); its bus is a Fuso Rosa
at one and a half times the real size. Masses, wheelbases, powers and top speeds are the makers' data, rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

from embedded_carla.blueprints.attributes import choice, fixed, role_name
from embedded_carla.types import Attribute, Blueprint, BoundingBox, SemanticTag, Vector3, VehicleSpec

GRAVITY_MPS2 = 9.81

_TAGS = {
    "car": SemanticTag.CAR,
    "van": SemanticTag.CAR,
    "truck": SemanticTag.TRUCK,
    "bus": SemanticTag.BUS,
    "motorcycle": SemanticTag.MOTORCYCLE,
    "bicycle": SemanticTag.BICYCLE,
}


@dataclass(frozen=True, slots=True)
class _Model:
    type_id: str
    base_type: str
    shape: str
    half_size_m: Vector3
    mass_kg: float
    wheelbase_m: float
    power_kw: float
    top_speed_mps: float
    generation: int = 1
    steer_max_deg: float = 46.9  # of the single-track model; clients read 70, as for CARLA's cars
    special_type: str = ""
    drag_area_m2: float = 0.66
    wheel_radius_m: float = 0.33
    mirror_reach_m: float = 0.0
    pull: float = 0.55  # largest driving force / weight; limited by clutch use, for motorcycles by wheelies


_CARS = (
    _Model("vehicle.audi.a2", "car", "hatchback", (1.853, 0.894, 0.774), 1030, 2.405, 66, 52),
    _Model("vehicle.audi.etron", "car", "suv", (2.428, 1.016, 0.825), 2490, 2.928, 265, 55, wheel_radius_m=0.37),
    _Model("vehicle.audi.tt", "car", "sedan", (2.091, 0.997, 0.693), 1410, 2.505, 169, 69),
    _Model("vehicle.bmw.grandtourer", "car", "hatchback", (2.305, 1.121, 0.834), 1560, 2.780, 110, 57),
    _Model("vehicle.chevrolet.impala", "car", "sedan", (2.679, 1.017, 0.705), 1660, 2.837, 150, 58),
    _Model("vehicle.citroen.c3", "car", "hatchback", (1.994, 0.925, 0.809), 1090, 2.540, 61, 48),
    _Model("vehicle.dodge.charger_2020", "car", "sedan", (2.503, 0.942, 0.767), 1800, 3.052, 276, 72, 2),
    _Model("vehicle.dodge.charger_police", "car", "sedan", (2.487, 1.019, 0.771), 1860, 3.052, 276, 68, 1, 46.9,
           "emergency"),
    _Model("vehicle.dodge.charger_police_2020", "car", "sedan", (2.618, 0.965, 0.820), 1920, 3.052, 276, 68, 2, 46.9,
           "emergency"),
    _Model("vehicle.ford.crown", "car", "sedan", (2.683, 0.900, 0.788), 1850, 2.913, 178, 57, 2, 46.9, "taxi"),
    _Model("vehicle.ford.mustang", "car", "sedan", (2.359, 0.947, 0.650), 1250, 2.743, 147, 56),
    _Model("vehicle.jeep.wrangler_rubicon", "car", "suv", (1.933, 0.953, 0.940), 1830, 2.424, 147, 47,
           drag_area_m2=1.1, wheel_radius_m=0.40),
    _Model("vehicle.lincoln.mkz_2017", "car", "sedan", (2.452, 1.064, 0.755), 1700, 2.850, 180, 62),
    _Model("vehicle.lincoln.mkz_2020", "car", "sedan", (2.446, 0.919, 0.746), 1710, 2.850, 183, 62, 2),
    _Model("vehicle.mercedes.coupe", "car", "sedan", (2.513, 1.076, 0.825), 1860, 2.840, 245, 69),
    _Model("vehicle.mercedes.coupe_2020", "car", "sedan", (2.336, 0.907, 0.722), 1650, 2.840, 190, 69, 2),
    _Model("vehicle.micro.microlino", "car", "hatchback", (1.104, 0.740, 0.688), 530, 1.566, 12.5, 25, 1, 46.9,
           "electric", drag_area_m2=0.8, wheel_radius_m=0.27),
    _Model("vehicle.mini.cooper_s", "car", "hatchback", (1.903, 0.985, 0.738), 1210, 2.467, 135, 64),
    _Model("vehicle.mini.cooper_s_2021", "car", "hatchback", (2.276, 1.048, 0.884), 1330, 2.567, 141, 65, 2),
    _Model("vehicle.nissan.micra", "car", "hatchback", (1.817, 0.923, 0.751), 1020, 2.430, 59, 47),
    _Model("vehicle.nissan.patrol", "car", "suv", (2.302, 0.966, 0.927), 2350, 2.850, 118, 45,
           drag_area_m2=1.1, wheel_radius_m=0.40),
    _Model("vehicle.nissan.patrol_2021", "car", "suv", (2.783, 1.075, 1.023), 2750, 3.075, 298, 58, 2,
           drag_area_m2=1.1, wheel_radius_m=0.40),
    _Model("vehicle.seat.leon", "car", "hatchback", (2.096, 0.908, 0.737), 1270, 2.578, 92, 56),
    _Model("vehicle.tesla.model3", "car", "sedan", (2.396, 1.082, 0.744), 1845, 2.875, 211, 62, 1, 46.9, "electric",
           drag_area_m2=0.51),
    _Model("vehicle.tesla.cybertruck", "truck", "pickup", (3.137, 1.195, 1.049), 3020, 3.635, 447, 52, 1, 46.9,
           "electric", drag_area_m2=1.1, wheel_radius_m=0.44),
    _Model("vehicle.toyota.prius", "car", "hatchback", (2.257, 1.003, 0.762), 1380, 2.700, 90, 50, 1, 46.9, "electric"),
)  # fmt: skip

_LARGE = (
    _Model("vehicle.ford.ambulance", "van", "van", (3.183, 1.176, 1.216), 3600, 3.505, 200, 45, 2, 50.0, "emergency",
           drag_area_m2=2.6, wheel_radius_m=0.38),
    _Model("vehicle.mercedes.sprinter", "van", "van", (2.958, 0.994, 1.280), 2250, 3.665, 120, 44, 2, 50.0,
           drag_area_m2=1.9, wheel_radius_m=0.35),
    _Model("vehicle.volkswagen.t2", "van", "van", (2.240, 1.035, 1.020), 1180, 2.400, 51, 36, 1, 50.0,
           drag_area_m2=1.3, wheel_radius_m=0.33),
    _Model("vehicle.volkswagen.t2_2021", "van", "van", (2.221, 0.887, 0.994), 1280, 2.400, 51, 36, 2, 50.0,
           drag_area_m2=1.3, wheel_radius_m=0.33),
    _Model("vehicle.carlamotors.carlacola", "truck", "truck", (2.602, 1.314, 1.234), 5500, 3.100, 130, 32, 1, 45.0,
           drag_area_m2=4.0, wheel_radius_m=0.45, pull=0.35),
    _Model("vehicle.carlamotors.european_hgv", "truck", "truck", (3.968, 1.446, 1.731), 11500, 4.200, 330, 28, 2, 45.0,
           drag_area_m2=6.0, wheel_radius_m=0.50, pull=0.35),
    _Model("vehicle.carlamotors.firetruck", "truck", "truck", (4.234, 1.446, 1.914), 13500, 4.400, 260, 32, 2, 45.0,
           "emergency", drag_area_m2=6.0, wheel_radius_m=0.50, pull=0.35),
    _Model("vehicle.mitsubishi.fusorosa", "bus", "bus", (5.136, 1.972, 2.126), 7500, 5.200, 150, 30, 2, 45.0,
           drag_area_m2=5.0, wheel_radius_m=0.43, mirror_reach_m=0.28, pull=0.35),
)  # fmt: skip

_TWO_WHEELED = (
    _Model("vehicle.harley-davidson.low_rider", "motorcycle", "motorcycle", (1.175, 0.383, 0.825), 380, 1.630, 64, 50,
           1, 40.0, drag_area_m2=0.6, wheel_radius_m=0.33, pull=0.65),
    _Model("vehicle.kawasaki.ninja", "motorcycle", "motorcycle", (1.022, 0.398, 0.762), 270, 1.410, 92, 72,
           1, 40.0, drag_area_m2=0.5, wheel_radius_m=0.31, pull=0.95),
    _Model("vehicle.vespa.zx125", "motorcycle", "motorcycle", (0.909, 0.433, 0.795), 190, 1.290, 9, 27,
           1, 40.0, drag_area_m2=0.6, wheel_radius_m=0.23, pull=0.3),
    _Model("vehicle.yamaha.yzf", "motorcycle", "motorcycle", (1.095, 0.433, 0.765), 280, 1.405, 147, 80,
           1, 40.0, drag_area_m2=0.5, wheel_radius_m=0.31, pull=1.0),
    _Model("vehicle.bh.crossbike", "bicycle", "bicycle", (0.755, 0.430, 0.805), 90, 1.080, 0.5, 10,
           1, 40.0, drag_area_m2=0.5, wheel_radius_m=0.34, pull=0.2),
    _Model("vehicle.diamondback.century", "bicycle", "bicycle", (0.828, 0.291, 0.810), 86, 1.000, 0.6, 12,
           1, 40.0, drag_area_m2=0.4, wheel_radius_m=0.34, pull=0.2),
    _Model("vehicle.gazelle.omafiets", "bicycle", "bicycle", (0.922, 0.330, 0.888), 95, 1.150, 0.4, 8,
           1, 40.0, drag_area_m2=0.6, wheel_radius_m=0.35, pull=0.15),
)  # fmt: skip

_COLOURS = ("17,37,103", "180,44,44", "237,237,237", "20,20,20", "134,134,134", "65,67,55", "26,60,23", "215,150,30")
_NO_LIGHTS = ("bicycle",)
_SIX_WHEELED = ("vehicle.carlamotors.european_hgv",)  # physics treats its two rear axles as one
# CARLA's second-generation vehicles have doors that open, except the bus.
_OPENING_DOORS = frozenset(m.type_id for m in (*_CARS, *_LARGE) if m.generation == 2 and m.base_type != "bus") | {
    "vehicle.tesla.cybertruck"
}


def _spec(model: _Model) -> VehicleSpec:
    two_wheeled = model.base_type in ("motorcycle", "bicycle")
    weight_n = model.mass_kg * GRAVITY_MPS2
    height_m = 2 * model.half_size_m[2]
    return VehicleSpec(
        type_id=model.type_id,
        tag=_TAGS[model.base_type],
        shape=model.shape,
        extent=model.half_size_m,
        mass_kg=model.mass_kg,
        wheelbase_m=model.wheelbase_m,
        rear_axle_x_m=-model.wheelbase_m / 2,
        track_m=0.2 if two_wheeled else 1.6 * (model.half_size_m[1] - model.mirror_reach_m),
        cog_height_m=min((0.42 if two_wheeled else 0.37) * height_m, 1.2),  # two-wheelers: the rider sits high
        wheel_radius_m=model.wheel_radius_m,
        steer_max_deg=model.steer_max_deg,
        power_w=1000 * model.power_kw,
        force_max_n=weight_n * model.pull,
        brake_force_max_n=weight_n * (0.5 if model.base_type == "bicycle" else 0.75 if model.mass_kg > 5000 else 1.0),
        drag_area_m2=model.drag_area_m2,
        top_speed_mps=model.top_speed_mps,
        number_of_wheels=2 if two_wheeled else 4,
        mirror_reach_m=model.mirror_reach_m,
    )


def _attributes(model: _Model, number_of_wheels: int) -> tuple[Attribute, ...]:
    has_lights = model.base_type not in _NO_LIGHTS
    first = sum(model.type_id.encode()) % len(_COLOURS)
    colours = _COLOURS[first:] + _COLOURS[:first]
    return (
        fixed("number_of_wheels", "int", "6" if model.type_id in _SIX_WHEELED else str(number_of_wheels)),
        fixed("object_type", "string", ""),
        fixed("base_type", "string", model.base_type),
        fixed("special_type", "string", model.special_type),
        fixed("generation", "int", str(model.generation)),
        fixed("has_lights", "bool", "true" if has_lights else "false"),
        fixed("has_dynamic_doors", "bool", "true" if model.type_id in _OPENING_DOORS else "false"),
        choice("sticky_control", "bool", ("true", "false")),
        choice("terramechanics", "bool", ("false", "true")),
        role_name("autopilot", "scenario", "ego_vehicle", "hero"),
        choice("color", "color", colours),
        choice("driver_id", "int", ("0", "1", "2", "3") if number_of_wheels == 2 else ("0",)),
    )


def vehicle_blueprints() -> list[Blueprint]:
    found = []
    for model in (*_CARS, *_LARGE, *_TWO_WHEELED):
        spec = _spec(model)
        box = BoundingBox((0.0, 0.0, spec.extent[2]), spec.extent)
        tags = tuple(model.type_id.split("."))
        found.append(Blueprint(model.type_id, tags, _attributes(model, spec.number_of_wheels), box, spec))
    return found
