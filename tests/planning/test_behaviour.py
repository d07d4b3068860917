"""The state machine of what the ego does: every situation has a permitted decision with a reason."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import Behaviour, CauseKind, Constraint, ConstraintKind, Manoeuvre
from planning.behaviour import MANOEUVRES, PERMITTED, Gap, Path, Situation, decide

IDS = st.lists(st.integers(1, 99), max_size=3, unique=True).map(tuple)
PATHS = st.none() | st.builds(
    Path, leads=st.sampled_from([*Manoeuvre][:4]), waits=st.booleans(), is_complete=st.booleans()
)
CONSTRAINTS = st.none() | st.builds(Constraint, st.sampled_from(ConstraintKind), st.sampled_from(["", "7"]))
SITUATIONS = st.builds(
    Situation,
    blocked_by=IDS,
    slowed_by=IDS,
    joins_beside=IDS,
    hurried_by=IDS,
    beside=IDS,
    keeps_aside=st.booleans(),
    is_beside_road=st.booleans(),
    is_out_of_lane=st.booleans(),
    gap=st.none() | st.builds(Gap, st.none() | st.integers(1, 99), st.none() | st.integers(1, 99)),
    waits_for_gap=st.booleans(),
    gap_comes=st.booleans(),
    onward=PATHS,
    is_held=st.booleans(),
    last_resort=PATHS,
    returns=st.booleans(),
    is_lost=st.booleans(),
    backs_up=st.booleans(),
    gives_way_to=IDS,
    lets_in=IDS,
    stops_for=CONSTRAINTS,
    creeps_at=CONSTRAINTS,
    fault=st.sampled_from(["", "front black"]),
)
STATES = st.sampled_from(Behaviour)

FOLLOW, OVERTAKE = Behaviour.FOLLOW_LANE, Behaviour.OVERTAKE
RED = Constraint(ConstraintKind.RED_LIGHT, "7")
THROUGH_ONCOMING = Path(Manoeuvre.PASS_THROUGH_ONCOMING_LANE)
CUT_OFF = replace(THROUGH_ONCOMING, is_complete=False)


def test_all_facts_are_drawn() -> None:
    assert {each.name for each in fields(Situation)} == set(SITUATIONS.wrapped_strategy.kwargs)  # type: ignore[attr-defined]


@given(STATES, SITUATIONS)
@settings(max_examples=500, deadline=None)
def test_every_situation_has_a_permitted_decision_with_a_reason(now: Behaviour, situation: Situation) -> None:
    decision = decide(now, situation)
    assert decision.behaviour in PERMITTED[now]
    assert decision.reason
    assert "{" not in decision.reason
    assert decision == decide(now, replace(situation)), "equal inputs, equal outputs"


@given(STATES, SITUATIONS)
@settings(max_examples=500, deadline=None)
def test_each_state_needs_its_fact(now: Behaviour, situation: Situation) -> None:
    behaviour, has_path = decide(now, situation).behaviour, situation.onward or situation.last_resort
    facts = {
        Behaviour.SAFE_STOP: bool(situation.fault) or situation.is_stranded,
        Behaviour.BACK_UP: situation.backs_up,
        Behaviour.GIVE_WAY_TO_EMERGENCY_VEHICLE: bool(situation.hurried_by),
        Behaviour.LEAVE_PARKING_SPACE: situation.is_beside_road,
        Behaviour.PASS_IN_LANE: situation.keeps_aside or has_path is not None,
        Behaviour.CHANGE_LANE: situation.gap is not None or has_path is not None,
        OVERTAKE: has_path is not None,
        Behaviour.MERGE: bool(situation.lets_in or situation.joins_beside),
        Behaviour.YIELD: bool(situation.gives_way_to),
        Behaviour.STOP: bool(situation.blocked_by) or situation.stops_for is not None,
        Behaviour.CREEP: situation.creeps_at is not None,
        FOLLOW: True,
    }
    assert facts[behaviour]


@given(STATES, SITUATIONS)
@settings(max_examples=500, deadline=None)
def test_a_demand_on_the_speed_never_chooses_another_manoeuvre(now: Behaviour, situation: Situation) -> None:
    """The path is chosen first, without these demands. With them, the ego keeps it, or is in its lane."""
    no_demand = replace(situation, gives_way_to=(), lets_in=(), stops_for=None, creeps_at=None)
    on_path, at_last = decide(now, no_demand).behaviour, decide(now, situation).behaviour
    assert at_last is on_path or at_last not in MANOEUVRES


@given(SITUATIONS)
@settings(max_examples=200, deadline=None)
def test_an_ego_that_overtakes_gives_up_when_the_oncoming_lane_closes_and_it_can_return(situation: Situation) -> None:
    closed = replace(situation, onward=None, last_resort=THROUGH_ONCOMING, returns=True, is_out_of_lane=True)
    calm = replace(closed, hurried_by=(), is_beside_road=False, keeps_aside=False, gap=None, backs_up=False, fault="")
    decision = decide(OVERTAKE, calm)
    assert decision.behaviour is FOLLOW
    assert decision.causes[-1].kind is CauseKind.ONCOMING_LANE_IS_CLOSED


@given(STATES, SITUATIONS)
@settings(max_examples=200, deadline=None)
def test_the_ego_stops_safely_when_nothing_is_feasible(now: Behaviour, situation: Situation) -> None:
    stranded = replace(situation, onward=None, last_resort=CUT_OFF, is_lost=True, backs_up=False)
    assert decide(now, stranded).behaviour is Behaviour.SAFE_STOP


@pytest.mark.parametrize(
    ("now", "situation", "behaviour", "reason"),
    [
        (FOLLOW, Situation(), FOLLOW, "the lane is free"),
        (FOLLOW, Situation(stops_for=RED), Behaviour.STOP, "red light 7"),
        (OVERTAKE, Situation(stops_for=RED), FOLLOW, "red light 7"),
        (FOLLOW, Situation(gives_way_to=(31, 4)), Behaviour.YIELD, "vehicle 31 goes first"),
        (FOLLOW, Situation(lets_in=(5,)), Behaviour.MERGE, "vehicle 5 comes onto the lane"),
        (
            FOLLOW,
            Situation(creeps_at=Constraint(ConstraintKind.LIGHT_NOT_SEEN, "945")),
            Behaviour.CREEP,
            "light that was not seen 945: the view is not clear",
        ),
        (
            FOLLOW,
            Situation(blocked_by=(12,), gap=Gap(ahead=31)),
            Behaviour.CHANGE_LANE,
            "vehicle 12 stands in the lane; gap behind vehicle 31",
        ),
        (
            FOLLOW,
            Situation(blocked_by=(12,), gap=Gap(ahead=31, behind=40)),
            Behaviour.CHANGE_LANE,
            "vehicle 12 stands in the lane; gap before vehicle 40",
        ),
        (
            FOLLOW,
            Situation(blocked_by=(12,), waits_for_gap=True),
            Behaviour.STOP,
            "vehicle 12 stands in the lane; there is no gap yet",
        ),
        (
            FOLLOW,
            Situation(blocked_by=(12,), onward=THROUGH_ONCOMING),
            OVERTAKE,
            "vehicle 12 stands in the lane; the oncoming lane is free",
        ),
        (
            FOLLOW,
            Situation(blocked_by=(12,), onward=replace(THROUGH_ONCOMING, waits=True)),
            Behaviour.STOP,
            "vehicle 12 stands in the lane; the path past it is not free yet",
        ),
        (
            OVERTAKE,
            Situation(blocked_by=(12,), onward=replace(THROUGH_ONCOMING, waits=True), is_out_of_lane=True),
            OVERTAKE,
            "vehicle 12 stands in the lane; the oncoming lane is free",
        ),
        (
            OVERTAKE,
            Situation(blocked_by=(12,), last_resort=CUT_OFF, is_out_of_lane=True),
            OVERTAKE,
            "vehicle 12 stands in the lane; the ego cannot return to its lane yet",
        ),
        (
            FOLLOW,
            Situation(joins_beside=(9,), onward=Path(Manoeuvre.PASS_THROUGH_NEXT_LANE)),
            Behaviour.MERGE,
            "vehicle 9 is beside the lane change; the next lane is free",
        ),
        (
            Behaviour.STOP,
            Situation(is_beside_road=True),
            Behaviour.LEAVE_PARKING_SPACE,
            "the ego is beside the road; there is no gap yet",
        ),
        (
            OVERTAKE,
            Situation(hurried_by=(8,)),
            Behaviour.GIVE_WAY_TO_EMERGENCY_VEHICLE,
            "vehicle 8 comes from behind much too fast",
        ),
        (
            Behaviour.STOP,
            Situation(blocked_by=(12,), backs_up=True),
            Behaviour.BACK_UP,
            "vehicle 12 stands in the lane; the ego is stuck",
        ),
        (OVERTAKE, Situation(fault="front black"), Behaviour.SAFE_STOP, "front black"),
    ],
)
def test_what_the_ego_does_and_why(now: Behaviour, situation: Situation, behaviour: Behaviour, reason: str) -> None:
    decision = decide(now, situation)
    assert (decision.behaviour, decision.reason) == (behaviour, reason)


def test_follow_lane_and_safe_stop_may_follow_every_state() -> None:
    assert PERMITTED.keys() == set(Behaviour)
    assert all({FOLLOW, Behaviour.SAFE_STOP, now} <= permitted for now, permitted in PERMITTED.items())


def test_it_stays_in_its_lane_where_the_route_leads_into_a_queue() -> None:
    beside = Path(Manoeuvre.PASS_THROUGH_NEXT_LANE)
    decision = decide(Behaviour.FOLLOW_LANE, Situation(joins_beside=(17,), last_resort=beside))
    assert decision.behaviour is Behaviour.MERGE
    assert decision.reason == "vehicle 17 is beside the lane change; there is no gap yet"
    out = decide(Behaviour.CHANGE_LANE, Situation(joins_beside=(17,), last_resort=beside, is_out_of_lane=True))
    assert out.behaviour is Behaviour.CHANGE_LANE
