"""Side profiles of the car models as fractions of length and height, drawn after photographs of each class."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class CarStyle:
    """Proportions of a car.

    x in fractions of the length (-0.5 tail to 0.5 nose), heights in fractions of the height, widths in fractions of the
    box's width.

    The top line runs tail, deck (foot of the rear window), roof's rear end, roof's front end, cowl (foot of the
    windscreen), nose. `panes` are the side windows' borders as fractions from the rear window to the windscreen.
    """

    tail_z: float = 0.64
    deck: tuple[float, float] = (-0.37, 0.69)
    roof_rear: float = -0.235
    roof_front: float = 0.085
    cowl: tuple[float, float] = (0.235, 0.645)
    nose_z: float = 0.50
    hood_x: float = 0.44  # where the bonnet begins to slope down to the nose
    clearance: float = 0.13
    shoulder: float = 0.55
    body_width: float = 0.93  # without mirrors
    roof_width: float = 0.70  # of the body's width
    roof_height: float = 0.995
    square: float = 0.0  # 0 round corners, 1 boxy
    panes: tuple[float, ...] = (0.03, 0.46, 0.97)
    lamp_front: tuple[float, float] = (0.42, 0.51)
    lamp_rear: tuple[float, float] = (0.52, 0.63)
    lamp_in: float = 0.50  # inner edge of the rear lamps, fraction of the half width
    lamp_front_in: float = 0.52
    grille: tuple[float, float, float] = (0.26, 0.36, 0.48)  # half width as a fraction, lower and upper edge
    grille_chrome: bool = False
    clad: bool = False  # dark plastic along sills and arches
    dark_roof: bool = False
    rack: bool = False  # roof rails
    spare: bool = False  # spare wheel on the back door
    bed: float = 0.0  # x where a pickup's bed begins; 0: no bed
    light_bar: bool = False
    taxi: bool = False
    doors_white: bool = False
    stripe: bool = False  # two stripes along bonnet and roof
    round_lamps: bool = False
    closed_sides: bool = False  # no windows behind the front doors
    own: tuple[float, float, float] | None = None  # fixed paint of police, taxis and ambulances


SEDAN = CarStyle()
LARGE_SEDAN = replace(
    SEDAN,
    deck=(-0.365, 0.71),
    roof_rear=-0.225,
    roof_front=0.065,
    cowl=(0.20, 0.66),
    tail_z=0.67,
    nose_z=0.53,
    lamp_in=0.42,
    grille=(0.30, 0.34, 0.49),
)
SPORTS = replace(
    SEDAN,
    deck=(-0.42, 0.70),
    roof_rear=-0.19,
    roof_front=0.045,
    cowl=(0.19, 0.68),
    tail_z=0.66,
    nose_z=0.48,
    roof_width=0.66,
    panes=(0.22, 0.97),
    clearance=0.11,
    lamp_in=0.40,
    grille=(0.30, 0.24, 0.38),
    shoulder=0.58,
)
HATCHBACK = replace(
    SEDAN,
    tail_z=0.64,
    deck=(-0.475, 0.68),
    roof_rear=-0.37,
    roof_front=0.08,
    cowl=(0.27, 0.63),
    nose_z=0.50,
    roof_width=0.74,
    panes=(0.05, 0.30, 0.63, 0.97),
    lamp_rear=(0.50, 0.67),
    lamp_in=0.66,
    hood_x=0.43,
)
MINIVAN = replace(
    HATCHBACK,
    roof_rear=-0.42,
    deck=(-0.48, 0.66),
    roof_front=0.11,
    cowl=(0.31, 0.60),
    panes=(0.03, 0.28, 0.62, 0.98),
)
SUV = replace(
    HATCHBACK,
    tail_z=0.62,
    deck=(-0.482, 0.66),
    roof_rear=-0.41,
    roof_front=0.10,
    cowl=(0.245, 0.63),
    nose_z=0.55,
    hood_x=0.45,
    clearance=0.15,
    shoulder=0.54,
    roof_width=0.78,
    clad=True,
    rack=True,
    lamp_front=(0.46, 0.55),
    grille=(0.30, 0.36, 0.53),
)
OFFROAD = replace(
    SUV,
    square=0.8,
    tail_z=0.58,
    deck=(-0.488, 0.60),
    roof_rear=-0.47,
    roof_front=0.075,
    cowl=(0.135, 0.60),
    nose_z=0.56,
    hood_x=0.47,
    roof_width=0.86,
    clearance=0.20,
    round_lamps=True,
    spare=True,
    rack=False,
    lamp_in=0.74,
    lamp_rear=(0.42, 0.54),
    lamp_front=(0.43, 0.55),
    grille=(0.30, 0.38, 0.54),
    panes=(0.04, 0.34, 0.66, 0.97),
)
VAN = replace(
    MINIVAN,
    square=0.6,
    tail_z=0.50,
    deck=(-0.492, 0.53),
    roof_rear=-0.478,
    roof_front=0.255,
    cowl=(0.375, 0.50),
    nose_z=0.36,
    hood_x=0.465,
    clearance=0.10,
    shoulder=0.36,
    roof_width=0.88,
    body_width=0.90,
    lamp_in=0.80,
    lamp_rear=(0.26, 0.44),
    lamp_front=(0.29, 0.38),
    lamp_front_in=0.62,
    grille=(0.24, 0.22, 0.34),
    clad=True,
    panes=(0.03, 0.36, 0.68, 0.98),
)
PICKUP = replace(
    SUV,
    deck=(-0.095, 0.63),
    roof_rear=-0.06,
    roof_front=0.10,
    cowl=(0.21, 0.62),
    tail_z=0.58,
    bed=-0.11,
    rack=False,
    panes=(0.04, 0.42, 0.97),
    lamp_rear=(0.42, 0.57),
    lamp_in=0.80,
    nose_z=0.56,
    square=0.5,
)

BY_SHAPE: dict[str, CarStyle] = {
    "sedan": SEDAN,
    "hatchback": HATCHBACK,
    "suv": SUV,
    "pickup": PICKUP,
    "van": VAN,
    "sports": SPORTS,
}
BY_MODEL: dict[str, CarStyle] = {
    "vehicle.audi.a2": replace(MINIVAN, panes=(0.06, 0.30, 0.62, 0.96), grille=(0.16, 0.38, 0.48)),
    "vehicle.audi.etron": replace(SUV, grille=(0.30, 0.28, 0.53), lamp_in=0.40),
    "vehicle.audi.tt": replace(
        SPORTS, roof_rear=-0.12, deck=(-0.36, 0.72), tail_z=0.68, nose_z=0.54, grille=(0.22, 0.26, 0.50)
    ),
    "vehicle.bmw.grandtourer": replace(MINIVAN, grille=(0.22, 0.38, 0.50), grille_chrome=True, rack=True),
    "vehicle.chevrolet.impala": replace(LARGE_SEDAN, grille_chrome=True),
    "vehicle.citroen.c3": replace(HATCHBACK, dark_roof=True, clad=True, lamp_front=(0.40, 0.48)),
    "vehicle.dodge.charger_2020": replace(LARGE_SEDAN, lamp_in=0.10, grille=(0.36, 0.40, 0.50), nose_z=0.54),
    "vehicle.dodge.charger_police": replace(
        LARGE_SEDAN,
        lamp_in=0.10,
        roof_height=0.90,
        light_bar=True,
        doors_white=True,
        own=(0.010, 0.010, 0.012),
        grille=(0.36, 0.40, 0.50),
    ),
    "vehicle.dodge.charger_police_2020": replace(
        LARGE_SEDAN,
        lamp_in=0.10,
        roof_height=0.90,
        light_bar=True,
        doors_white=True,
        own=(0.010, 0.010, 0.012),
        grille=(0.36, 0.40, 0.50),
    ),
    "vehicle.ford.crown": replace(
        LARGE_SEDAN, roof_height=0.915, taxi=True, grille_chrome=True, own=(0.78, 0.46, 0.02)
    ),
    "vehicle.ford.mustang": replace(
        SPORTS,
        round_lamps=True,
        cowl=(0.14, 0.70),
        roof_front=-0.02,
        stripe=True,
        grille=(0.34, 0.34, 0.48),
        nose_z=0.54,
        lamp_in=0.30,
    ),
    "vehicle.jeep.wrangler_rubicon": OFFROAD,
    "vehicle.lincoln.mkz_2017": replace(SEDAN, lamp_in=0.06, grille=(0.36, 0.38, 0.50), grille_chrome=True),
    "vehicle.lincoln.mkz_2020": replace(SEDAN, lamp_in=0.06, grille=(0.30, 0.34, 0.50), grille_chrome=True),
    "vehicle.mercedes.coupe": replace(
        SPORTS,
        deck=(-0.37, 0.70),
        roof_rear=-0.18,
        grille=(0.24, 0.32, 0.48),
        grille_chrome=True,
        panes=(0.10, 0.45, 0.97),
    ),
    "vehicle.mercedes.coupe_2020": replace(
        SPORTS, deck=(-0.38, 0.70), roof_rear=-0.17, grille=(0.24, 0.32, 0.48), grille_chrome=True
    ),
    "vehicle.micro.microlino": replace(
        MINIVAN,
        cowl=(0.44, 0.55),
        roof_front=0.16,
        nose_z=0.44,
        hood_x=0.47,
        deck=(-0.44, 0.66),
        roof_rear=-0.22,
        panes=(0.05, 0.97),
        round_lamps=True,
        grille=(0.0, 0.3, 0.4),
        dark_roof=True,
    ),
    "vehicle.mini.cooper_s": replace(
        HATCHBACK,
        dark_roof=True,
        round_lamps=True,
        panes=(0.05, 0.34, 0.97),
        square=0.25,
        cowl=(0.22, 0.66),
        nose_z=0.56,
        lamp_front=(0.44, 0.57),
    ),
    "vehicle.mini.cooper_s_2021": replace(
        HATCHBACK,
        dark_roof=True,
        round_lamps=True,
        square=0.25,
        cowl=(0.22, 0.64),
        nose_z=0.55,
        lamp_front=(0.43, 0.56),
        clad=True,
    ),
    "vehicle.nissan.micra": replace(HATCHBACK, round_lamps=True, deck=(-0.46, 0.66), roof_rear=-0.34),
    "vehicle.nissan.patrol": replace(SUV, square=0.5, cowl=(0.20, 0.61), roof_front=0.10, spare=True, roof_width=0.84),
    "vehicle.nissan.patrol_2021": replace(SUV, square=0.35, grille=(0.34, 0.34, 0.54), grille_chrome=True),
    "vehicle.seat.leon": HATCHBACK,
    "vehicle.tesla.model3": replace(
        SEDAN,
        deck=(-0.40, 0.72),
        roof_rear=-0.14,
        roof_front=0.03,
        cowl=(0.25, 0.64),
        grille=(0.0, 0.3, 0.4),
        dark_roof=True,
        nose_z=0.47,
    ),
    "vehicle.tesla.cybertruck": replace(
        PICKUP,
        bed=0.0,
        deck=(-0.47, 0.60),
        roof_rear=0.0,
        roof_front=0.05,
        cowl=(0.30, 0.575),
        tail_z=0.585,
        nose_z=0.45,
        square=1.0,
        panes=(0.42, 0.70, 0.97),
        grille=(0.0, 0.3, 0.4),
        lamp_in=0.05,
        lamp_front_in=0.05,
        lamp_front=(0.41, 0.44),
        lamp_rear=(0.535, 0.57),
        hood_x=0.47,
    ),
    "vehicle.toyota.prius": replace(
        HATCHBACK,
        deck=(-0.46, 0.74),
        roof_rear=-0.20,
        roof_front=0.02,
        cowl=(0.26, 0.64),
        roof_width=0.70,
        grille=(0.12, 0.42, 0.48),
    ),
    "vehicle.ford.ambulance": replace(VAN, light_bar=True, roof_height=0.93, closed_sides=True, own=(0.74, 0.74, 0.73)),
    "vehicle.mercedes.sprinter": replace(VAN, closed_sides=True),
    "vehicle.volkswagen.t2": replace(
        VAN,
        cowl=(0.44, 0.54),
        roof_front=0.35,
        nose_z=0.46,
        hood_x=0.48,
        clad=False,
        round_lamps=True,
        shoulder=0.45,
        lamp_front=(0.36, 0.47),
        grille=(0.0, 0.2, 0.3),
        roof_width=0.84,
        panes=(0.03, 0.27, 0.51, 0.75, 0.98),
    ),
    "vehicle.volkswagen.t2_2021": replace(
        VAN,
        cowl=(0.44, 0.54),
        roof_front=0.35,
        nose_z=0.46,
        hood_x=0.48,
        clad=False,
        round_lamps=True,
        shoulder=0.45,
        lamp_front=(0.36, 0.47),
        grille=(0.0, 0.2, 0.3),
        roof_width=0.84,
        panes=(0.03, 0.27, 0.51, 0.75, 0.98),
    ),
}


def style_of(shape: str, model: str) -> CarStyle:
    """The style of a model; for an unknown model that of its shape, and for an unknown shape a sedan's."""
    return BY_MODEL.get(model, BY_SHAPE.get(shape, SEDAN))
