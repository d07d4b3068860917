"""Which contacts are collisions, and of which kind."""

from __future__ import annotations

import pytest

from av_core.types import CollisionEvent, Stamp
from scenarios.judging.collisions import Collisions, collision_kind
from tests.scenarios.judged_drives import STEP_S, show, tick_of


def counted(*hits: tuple[float, float, int], speed_mps: float = 5.0, type_id: str = "vehicle.audi.tt") -> int:
    """Collisions of a drive with hits (time s, place m, id of the body), and ticks without one between them."""
    collisions = Collisions()
    for time_s, x_m, other_id in hits:
        event = CollisionEvent(Stamp(round(time_s / STEP_S), time_s), other_id, type_id, 100.0)
        show(collisions, [tick_of(x_m, time_s=time_s - 0.05, speed_mps=speed_mps)])
        show(collisions, [tick_of(x_m, time_s=time_s, speed_mps=speed_mps, collisions=[event])])
    return collisions.infractions.collisions


def test_one_body_counts_again_after_five_seconds_at_another_place() -> None:
    assert counted((1.0, 0.0, 7), (5.9, 20.0, 7)) == 1
    assert counted((1.0, 0.0, 7), (6.2, 20.0, 7)) == 2


def test_another_body_counts_only_beyond_five_metres() -> None:
    assert counted((1.0, 0.0, 7), (1.5, 4.9, 8)) == 1
    assert counted((1.0, 0.0, 7), (1.5, 5.1, 8)) == 2


def test_at_one_place_nothing_counts_however_late() -> None:
    assert counted((1.0, 0.0, 7), (60.0, 4.0, 7), (120.0, 4.0, 8)) == 1


def test_the_map_has_no_body_that_is_remembered() -> None:
    assert counted((1.0, 0.0, 0), (2.0, 20.0, 0), type_id="static.building") == 2


def test_a_standing_ego_is_hit_without_fault() -> None:
    assert counted((1.0, 0.0, 7), speed_mps=0.09) == 0
    assert counted((1.0, 0.0, 7), speed_mps=0.11) == 1


def test_a_contact_that_stops_the_ego_at_once_counts() -> None:
    collisions = Collisions()
    event = CollisionEvent(Stamp(0, 1.0), 7, "static.wall", 1e4)
    show(collisions, [tick_of(speed_mps=0.0, speed_before_mps=8.0, collisions=[event])])
    assert collisions.infractions.collisions_static == 1


def test_speed_and_place_are_those_of_the_tick_before_a_contact_that_is_told_late() -> None:
    """The first contact, of tick 2, is told with tick 3, when it has stopped the ego; the second one likewise."""
    collisions = Collisions()
    drive = (
        (0.0, 8.0, None),
        (2.0, 0.0, None),
        (3.0, 0.0, (2, 7)),
        (5.1, 8.0, None),
        (5.5, 0.0, None),
        (5.5, 0.0, (5, 8)),
    )
    for frame, (x_m, speed_mps, contact) in enumerate(drive, start=1):
        hits = [CollisionEvent(Stamp(contact[0], STEP_S * contact[0]), contact[1], "walker.x", 1.0)] if contact else []
        show(collisions, [tick_of(x_m, time_s=STEP_S * frame, speed_mps=speed_mps, collisions=hits)])
    assert collisions.infractions.collisions_walker == 2  # the second is 5.1 m behind tick 1, and 2.1 m behind tick 3


@pytest.mark.parametrize(
    ("type_id", "kind"),
    [
        ("static.building", "static"),
        ("static.prop.streetbarrier", "static"),
        ("traffic.traffic_light", "static"),
        ("static.sidewalk", None),
        ("vehicle.audi.tt", "vehicle"),
        ("walker.pedestrian.0001", "walker"),
        ("sensor.camera.rgb", None),
    ],
)
def test_the_type_of_the_body_says_what_it_counts_as(type_id: str, kind: str | None) -> None:
    assert collision_kind(type_id) == kind
    assert counted((1.0, 0.0, 7), type_id=type_id) == (kind is not None)
