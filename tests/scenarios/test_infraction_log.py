"""The log of infractions: one entry for each that is counted, with time and place."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import CollisionEvent, LightState, Truth
from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction
from scenarios.judging.judge import Judge
from scenarios.judging.score import PENALTIES, Infractions
from tests.scenarios.judged_drives import CAR, car, route_on
from tests.scenarios.test_judge import END_M, GRAPH, START_M, drive

KIND_OF_FIELD = {
    "collisions_walker": InfractionKind.COLLISION_WALKER,
    "collisions_vehicle": InfractionKind.COLLISION_VEHICLE,
    "collisions_static": InfractionKind.COLLISION_STATIC,
    "red_lights": InfractionKind.RED_LIGHT,
    "stop_signs": InfractionKind.STOP_SIGN,
    "scenario_timeouts": InfractionKind.SCENARIO_TIMEOUT,
    "failed_yields": InfractionKind.FAILED_YIELD,
}


def assert_same(log: tuple[LoggedInfraction, ...], infractions: Infractions) -> None:
    """The log has as many entries of each kind as are counted."""
    counts = Counter(entry.kind for entry in log)
    for field, kind in KIND_OF_FIELD.items():
        assert counts[kind] == infractions.count(field)
    assert counts[InfractionKind.MINIMUM_SPEED] == len(infractions.minimum_speed_percent)
    assert counts[InfractionKind.OUTSIDE_LANES] == (infractions.outside_lane_share > 0.0)
    assert [entry.time_s for entry in log] == sorted(entry.time_s for entry in log)


def test_every_kind_of_event_has_a_kind_of_entry() -> None:
    assert set(KIND_OF_FIELD) == set(PENALTIES)


def test_entries_say_when_where_and_what() -> None:
    def worse(truth: Truth) -> Truth:
        hit = CollisionEvent(truth.stamp, 9, "vehicle.audi.tt", 1e3)
        hits = (hit,) if 49.9 < truth.ego.x_m < 50.1 else ()
        return replace(truth, lights={"a": LightState.RED}, collisions=hits)

    _, verdict = drive(worse, stop_at_m=1e9)
    hit, light, sign = verdict.infraction_log
    centre_m = 50.0 + CAR.rear_axle_to_centre_m
    assert hit == LoggedInfraction(
        InfractionKind.COLLISION_VEHICLE, 4.8, centre_m, 0.0, "hit vehicle.audi.tt at 36 km/h, 1000 N s"
    )
    assert (light.kind, light.what) == (InfractionKind.RED_LIGHT, "ran the red light a at 36 km/h")
    assert light.x_m == pytest.approx(102.0, abs=1.0)  # the tail crosses the line 0.25 m before the junction
    assert sign.what == "passed the stop sign s without a stop, at 36 km/h at least"
    assert json.loads(json.dumps(asdict(hit)))["kind"] == "collision_vehicle"


def test_a_clean_drive_has_an_empty_log() -> None:
    assert drive()[1].infraction_log == ()


def test_stretches_outside_the_lanes_are_one_entry_at_the_first() -> None:
    def astray(truth: Truth) -> Truth:
        is_astray = 40.0 < truth.ego.x_m < 60.0 or 150.0 < truth.ego.x_m < 160.0
        return replace(truth, ego=replace(truth.ego, y_m=-4.0 if is_astray else 0.0))

    (entry,) = drive(astray)[1].infraction_log
    assert entry.kind is InfractionKind.OUTSIDE_LANES
    assert entry.x_m == pytest.approx(41.2, abs=1.0)
    assert entry.what == ("9.5 % of the way outside the lanes or against the traffic: 19 m from 3.9 s, 9 m from 14.9 s")


def test_what_ends_the_drive_is_logged_only_if_it_ended_it() -> None:
    judge, verdict = drive(
        lambda truth: replace(truth, ego=replace(truth.ego, y_m=-32.0 if truth.ego.x_m > 50 else 0.0))
    )
    assert verdict.infraction_log[-1].kind is InfractionKind.DEVIATION
    assert verdict.infraction_log[-1].what == verdict.end == "left the route by 32 m"
    assert InfractionKind.DEVIATION not in {entry.kind for entry in judge.verdict("arrived").infraction_log}


def test_an_error_of_the_agent_is_logged_also_before_the_first_tick() -> None:
    judge = Judge(GRAPH, route_on(GRAPH, START_M, END_M), CAR, timeout_s=100.0)
    (entry,) = judge.verdict("error", agent_error="KeyError in step").infraction_log
    assert (entry.kind, entry.time_s, entry.what) == (InfractionKind.AGENT_ERROR, 0.0, "KeyError in step")


def test_a_vehicle_that_is_held_up_at_the_end_is_logged() -> None:
    judge = Judge(GRAPH, route_on(GRAPH, START_M, END_M), CAR, timeout_s=100.0)
    judge.scenarios.begin("Yield_1", emergency_id=7)
    judge.scenarios.begin("Accident_1")
    _, verdict = drive(lambda truth: replace(truth, objects=(car(7, truth.ego.x_m - 20.0),)), judge=judge)
    assert verdict.infraction_log[-1].what == "did not let the emergency vehicle 7 of Yield_1 pass"
    judge.scenarios.end("Yield_1")
    judge.scenarios.end("Accident_1", is_timed_out=True)
    verdict = judge.verdict("arrived")
    assert {entry.what for entry in verdict.infraction_log[-2:]} == {
        "did not let the emergency vehicle 7 of Yield_1 pass",
        "did not finish Accident_1 in time",
    }
    assert_same(verdict.infraction_log, verdict.infractions)


@settings(max_examples=6, deadline=None)
@given(
    offsets=st.lists(st.sampled_from([0.0, 0.0, -4.0, 8.0]), min_size=6, max_size=6),
    hits=st.sets(st.integers(0, 5)),
    body=st.sampled_from(["vehicle.audi.tt", "walker.pedestrian.0001", "static.pole", "static.sidewalk"]),
    light=st.sampled_from([LightState.RED, LightState.GREEN]),
    traffic_mps=st.floats(0.0, 20.0),
    stop_at_m=st.sampled_from([198.5, 1e9]),
)
def test_the_log_holds_exactly_what_is_counted(
    offsets: list[float], hits: set[int], body: str, light: LightState, traffic_mps: float, stop_at_m: float
) -> None:
    """The route in six pieces: on each the ego may be beside its lane, and may hit something."""

    def change(truth: Truth) -> Truth:
        piece = min(5, int(truth.ego.x_m // 50.0))
        contact = CollisionEvent(truth.stamp, piece, body, 1.0)
        is_hit = piece in hits and 20.0 < truth.ego.x_m % 50.0 < 20.6
        return replace(
            truth,
            ego=replace(truth.ego, y_m=offsets[piece]),
            lights={"a": light},
            collisions=(contact,) if is_hit else (),
            objects=(car(1, truth.ego.x_m, 20.0, traffic_mps),),
        )

    _, verdict = drive(change, stop_at_m)
    assert_same(verdict.infraction_log, verdict.infractions)
