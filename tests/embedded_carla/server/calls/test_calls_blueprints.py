"""The blueprint library: CARLA's catalogue, and the page that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_carla.blueprints import LIBRARY
from embedded_carla.blueprints.catalogue import markdown

PAGE = Path(__file__).parents[4] / "docs" / "embedded-carla" / "blueprints.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == markdown(LIBRARY), (
        "renew it: python -m embedded_carla.blueprints > docs/.../blueprints.md"
    )


def test_all_of_carlas_vehicles_walkers_and_props_exist() -> None:
    kinds = {kind: [i for i in LIBRARY if i.startswith(kind)] for kind in ("vehicle.", "walker.", "static.prop.")}
    assert len(kinds["vehicle."]) == 41  # as a CARLA 0.9.15 server lists
    assert {f"walker.pedestrian.{n:04d}" for n in range(1, 52)} <= set(kinds["walker."])
    assert len(kinds["static.prop."]) == 99  # as a CARLA 0.9.16 server lists, and static.prop.mesh
    for name in ("dirtdebris02", "trafficwarning", "haybalelb", "foodcart", "vendingmachine", "coconutpalm"):
        assert f"static.prop.{name}" in LIBRARY


@pytest.mark.parametrize(
    ("type_id", "size_m"),
    [  # bounding boxes that a CARLA server gives
        ("vehicle.audi.a2", (3.71, 1.79, 1.55)),
        ("vehicle.tesla.model3", (4.79, 2.16, 1.49)),
        ("vehicle.dodge.charger_2020", (5.01, 1.88, 1.53)),
        ("vehicle.dodge.charger_police_2020", (5.24, 1.93, 1.64)),
        ("vehicle.mercedes.coupe_2020", (4.67, 1.81, 1.44)),
        ("vehicle.ford.ambulance", (6.37, 2.35, 2.43)),
        ("vehicle.carlamotors.firetruck", (8.47, 2.89, 3.83)),
        ("vehicle.carlamotors.european_hgv", (7.94, 2.89, 3.46)),
        ("vehicle.gazelle.omafiets", (1.84, 0.66, 1.78)),
        ("vehicle.vespa.zx125", (1.82, 0.87, 1.59)),
        ("vehicle.mitsubishi.fusorosa", (10.27, 3.94, 4.25)),
        ("vehicle.dodge.charger_police", (4.97, 2.04, 1.54)),
        ("vehicle.nissan.patrol_2021", (5.57, 2.15, 2.05)),
        ("vehicle.carlamotors.carlacola", (5.20, 2.63, 2.47)),
        ("vehicle.yamaha.yzf", (2.19, 0.87, 1.53)),
        ("vehicle.kawasaki.ninja", (2.04, 0.80, 1.52)),
        ("vehicle.ford.crown", (5.37, 1.80, 1.575)),
        ("walker.pedestrian.0013", (0.38, 0.38, 1.30)),
        # Scenarios stand a walker `extent.x` beside a prop: the longer side has to be CARLA's.
        ("static.prop.advertisement", (1.55, 0.29, 2.44)),
        ("static.prop.busstop", (3.88, 1.89, 2.74)),
        ("static.prop.busstoplb", (1.89, 3.88, 2.74)),
        ("static.prop.foodcart", (2.28, 4.64, 3.57)),
        ("static.prop.streetbarrier", (1.21, 0.37, 1.07)),
        ("static.prop.trafficwarning", (2.37, 2.87, 3.57)),
        ("static.prop.vendingmachine", (0.87, 1.10, 2.11)),
    ],
)
def test_actors_have_carlas_sizes(type_id: str, size_m: tuple[float, float, float]) -> None:
    assert [2 * half for half in LIBRARY[type_id].box.extent] == pytest.approx(list(size_m), abs=0.006)


def test_every_vehicle_and_walker_says_what_scripts_ask_for() -> None:
    for type_id, blueprint in LIBRARY.items():
        names = {a.name for a in blueprint.attributes}
        if type_id.startswith("vehicle."):
            assert names >= {"base_type", "special_type", "generation", "number_of_wheels", "has_dynamic_doors"}
            assert names >= {"has_lights", "color", "driver_id", "role_name", "sticky_control", "object_type"}
        elif type_id.startswith("walker."):
            assert names >= {"age", "gender", "generation", "speed", "is_invincible", "role_name"}
        assert names or type_id.startswith("sensor."), type_id
