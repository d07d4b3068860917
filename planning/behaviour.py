"""What the ego does: a state machine as one pure function, `decide`, from the facts of one step to a `Decision`.

The states are those of `Behaviour`, in three groups:

* **in the lane**: follow lane, merge, yield, stop, creep;
* **manoeuvres**: pass in lane, change lane, overtake, leave parking space, give way to an emergency vehicle;
* **ways out**: back up, safe stop.

All transitions are permitted but those from a manoeuvre to yield, stop or creep (`PERMITTED`): a manoeuvre ends with
follow lane, which leads the ego back into its lane, and the next step decides anew. `docs/driving.md` has a diagram.

A step decides three times, from the same state: on the path (`planning.local.path_planner`), on backing up, and, with
what traffic and signals demand, between the states in the lane (`planning.planner`). No decision switches off a demand
on the speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from av_core.types import Behaviour, Cause, CauseKind, Constraint, Decision, Manoeuvre

IN_LANE = frozenset({Behaviour.FOLLOW_LANE, Behaviour.MERGE, Behaviour.YIELD, Behaviour.STOP, Behaviour.CREEP})
MANOEUVRES = frozenset(
    {
        Behaviour.PASS_IN_LANE,
        Behaviour.CHANGE_LANE,
        Behaviour.OVERTAKE,
        Behaviour.LEAVE_PARKING_SPACE,
        Behaviour.GIVE_WAY_TO_EMERGENCY_VEHICLE,
    }
)
WAYS_OUT = frozenset({Behaviour.BACK_UP, Behaviour.SAFE_STOP})

_NOT_FROM_MANOEUVRE = frozenset({Behaviour.YIELD, Behaviour.STOP, Behaviour.CREEP})

PERMITTED: Mapping[Behaviour, frozenset[Behaviour]] = {
    now: frozenset(Behaviour) - (_NOT_FROM_MANOEUVRE if now in MANOEUVRES else frozenset()) for now in Behaviour
}
"""The states that may follow each state."""

_PASSES = {
    Manoeuvre.PASS_IN_LANE: (Behaviour.PASS_IN_LANE, CauseKind.LANE_HAS_ROOM),
    Manoeuvre.PASS_THROUGH_NEXT_LANE: (Behaviour.CHANGE_LANE, CauseKind.NEXT_LANE_IS_FREE),
    Manoeuvre.PASS_THROUGH_ONCOMING_LANE: (Behaviour.OVERTAKE, CauseKind.ONCOMING_LANE_IS_FREE),
}
"""For each place where a path leads past something, the state of an ego that drives along it, and its cause."""

_PASSING = frozenset(behaviour for behaviour, _ in _PASSES.values())


@dataclass(frozen=True, slots=True)
class Path:
    """A path on offer: where it leads in the next metres, whether the ego has to wait on it, and whether it reaches the
    end of the search."""

    leads: Manoeuvre
    waits: bool = False
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap in the traffic of the lane beside: the track ids of those ahead of it and behind it, None for nobody."""

    ahead: int | None = None
    behind: int | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What the planner knows in one step. Others are named by their track ids, the first one along the road first.

    Of the road:

    * `blocked_by`: those that stand in the lane and may be passed; `slowed_by`: those that drive slowly there.
    * `joins_beside`: those beside a lane change of the route.
    * `hurried_by`: those behind the ego that come much too fast, as emergency vehicles do.
    * `beside`: those that stand close beside the lane, or come close on the lane beside. With `keeps_aside`, a path
      within the lane keeps enough distance from them.
    * `is_beside_road`: the ego stands beside the road, or is on its way from there.
    * `is_out_of_lane`: it is out of its lane.

    Of the paths that were found:

    * `gap`: a gap for a lane change at once. With `waits_for_gap`, there is traffic beside and none; with `gap_comes`,
      there will be one in some seconds.
    * `onward`: the path past what blocks the lane. With `is_held`, it is the one of the step before, for a moment in
      which the search finds none.
    * `last_resort`: for an ego without a path onward that is out of its lane, or would leave it where the route changes
      lanes, the path that is left. With `returns`, it leads back into the lane. With `is_lost`, there has been no path
      onward for several steps.

    Of the speed:

    * `backs_up`: the ego is stuck, and the way behind it is free.
    * `gives_way_to`, `lets_in`: those for which the ego has to stop soon, because they go first where paths cross or
      join, or block a junction; and those that it lets come onto its lane.
    * `stops_for`: the light, sign, pedestrian or end of the route for which it has to stop soon.
    * `creeps_at`: the light or sign where it drives slowly because it has to see first.
    * `fault`: the fault of a sensor, or the request, for which the ego has to stop; empty for none.
    """

    blocked_by: tuple[int, ...] = ()
    slowed_by: tuple[int, ...] = ()
    joins_beside: tuple[int, ...] = ()
    hurried_by: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()
    keeps_aside: bool = False
    is_beside_road: bool = False
    is_out_of_lane: bool = False
    gap: Gap | None = None
    waits_for_gap: bool = False
    gap_comes: bool = False
    onward: Path | None = None
    is_held: bool = False
    last_resort: Path | None = None
    returns: bool = False
    is_lost: bool = False
    backs_up: bool = False
    gives_way_to: tuple[int, ...] = ()
    lets_in: tuple[int, ...] = ()
    stops_for: Constraint | None = None
    creeps_at: Constraint | None = None
    fault: str = ""

    @property
    def is_stranded(self) -> bool:
        """Whether the ego is in the oncoming lane, and no path leads on or back."""
        last = self.last_resort
        leads_against = last is not None and last.leads is Manoeuvre.PASS_THROUGH_ONCOMING_LANE
        return self.onward is None and self.is_lost and last is not None and leads_against and not last.is_complete

    @property
    def is_in_demand(self) -> bool:
        """Whether traffic or signals demand something of an ego that is in its lane."""
        demands = (self.gives_way_to, self.lets_in, self.stops_for, self.creeps_at)
        return not self.is_out_of_lane and any(demands)


def decide(now: Behaviour, situation: Situation) -> Decision:
    """What an ego that does `now` does next, and why. Equal inputs give equal outputs.

    The first rule of `_RULES` that applies decides. Where the transition to its state is not permitted, the ego follows
    its lane, for the same causes.
    """
    decision = next(found for rule in _RULES if (found := rule(now, situation)) is not None)
    if decision.behaviour in PERMITTED[now]:
        return decision
    return Decision(Behaviour.FOLLOW_LANE, decision.causes)


Rule = Callable[[Behaviour, Situation], Decision | None]
"""The decision for a state and a situation; None where the rule does not apply."""


def _stop_for_fault(_: Behaviour, situation: Situation) -> Decision | None:
    if not situation.fault:
        return None
    return Decision(Behaviour.SAFE_STOP, (Cause(CauseKind.FAULT, name=situation.fault),))


def _back_up(_: Behaviour, situation: Situation) -> Decision | None:
    if not situation.backs_up:
        return None
    return Decision(Behaviour.BACK_UP, (*_obstacles(situation), Cause(CauseKind.STUCK)))


def _halt_in_oncoming_lane(_: Behaviour, situation: Situation) -> Decision | None:
    if not situation.is_stranded:
        return None
    return Decision(Behaviour.SAFE_STOP, (*_obstacles(situation), Cause(CauseKind.NO_WAY_OUT)))


def _make_room(_: Behaviour, situation: Situation) -> Decision | None:
    if not situation.hurried_by:
        return None
    return Decision(
        Behaviour.GIVE_WAY_TO_EMERGENCY_VEHICLE, _first(CauseKind.COMES_MUCH_TOO_FAST, situation.hurried_by)
    )


def _leave_parking_space(_: Behaviour, situation: Situation) -> Decision | None:
    if not situation.is_beside_road:
        return None
    is_free = situation.onward is not None and not situation.onward.waits
    found = CauseKind.GAP_IN_TRAFFIC if is_free else CauseKind.NO_GAP
    return Decision(Behaviour.LEAVE_PARKING_SPACE, (Cause(CauseKind.BESIDE_ROAD), Cause(found)))


def _keep_aside(_: Behaviour, situation: Situation) -> Decision | None:
    """Keep away from those beside the lane, within the lane."""
    if not situation.keeps_aside or situation.is_in_demand:
        return None
    beside = _first(CauseKind.STANDS_BESIDE, situation.beside) or (Cause(CauseKind.ONCOMING_COMES_CLOSE),)
    return Decision(Behaviour.PASS_IN_LANE, beside)


def _change_lane(_: Behaviour, situation: Situation) -> Decision | None:
    """Change lanes into a gap in the traffic beside."""
    if situation.gap is None:
        return None
    return Decision(Behaviour.CHANGE_LANE, (*_obstacles(situation), _gap_cause(situation.gap)))


def _drive_past(now: Behaviour, situation: Situation) -> Decision | None:
    """Drive along the path onward through another lane, or beside what stands in the lane.

    An ego in its lane waits there where the path is not free yet, and where traffic or signals demand something.
    """
    path = situation.onward
    if path is None or path.leads not in _PASSES or situation.is_in_demand:
        return None
    if path.waits and not situation.is_out_of_lane:
        return None
    behaviour, cause = _PASSES[path.leads]
    if behaviour is Behaviour.CHANGE_LANE and situation.joins_beside and not situation.blocked_by:
        behaviour = Behaviour.MERGE
    if situation.is_held:
        behaviour, cause = now if now in _PASSING else behaviour, CauseKind.PATH_IS_HELD
    return Decision(behaviour, (*_obstacles(situation), Cause(cause)))


def _end_pass(_: Behaviour, situation: Situation) -> Decision | None:
    """Give up a pass that has no path onward: return to the lane, or else stay beside it until the ego can.

    An ego that is still in its lane, where the route changes lanes, stays in it.
    """
    last, obstacles = situation.last_resort, _obstacles(situation)
    if situation.onward is not None or last is None:
        return None
    if situation.joins_beside and not situation.is_out_of_lane:
        return Decision(Behaviour.MERGE, (*obstacles, Cause(CauseKind.NO_GAP)))
    if situation.returns:
        return Decision(Behaviour.FOLLOW_LANE, (*obstacles, Cause(CauseKind.ONCOMING_LANE_IS_CLOSED)))
    behaviour, _cause = _PASSES.get(last.leads, _PASSES[Manoeuvre.PASS_IN_LANE])
    return Decision(behaviour, (*obstacles, Cause(CauseKind.CANNOT_RETURN_YET)))


def _wait_behind(_: Behaviour, situation: Situation) -> Decision | None:
    """Wait in the lane behind what stands there, until a path leads past it."""
    path = situation.onward
    if not situation.blocked_by or situation.keeps_aside or (path is not None and not path.waits):
        return None
    if situation.gap_comes:
        return Decision(Behaviour.FOLLOW_LANE, (*_obstacles(situation), Cause(CauseKind.GAP_COMES)))
    no_path = CauseKind.NO_PATH if path is None else CauseKind.NOT_FREE_YET
    return Decision(
        Behaviour.STOP, (*_obstacles(situation), Cause(CauseKind.NO_GAP if situation.waits_for_gap else no_path))
    )


def _meet_demands(_: Behaviour, situation: Situation) -> Decision | None:
    """Do in the lane what traffic and signals demand."""
    if situation.gives_way_to:
        return Decision(Behaviour.YIELD, _first(CauseKind.GOES_FIRST, situation.gives_way_to))
    if situation.stops_for is not None:
        return Decision(Behaviour.STOP, (_of(CauseKind.STOPS_FOR, situation.stops_for),))
    if situation.lets_in:
        return Decision(Behaviour.MERGE, _first(CauseKind.COMES_ONTO_LANE, situation.lets_in))
    if situation.creeps_at is not None:
        return Decision(Behaviour.CREEP, (_of(CauseKind.VIEW_IS_NOT_CLEAR, situation.creeps_at),))
    return None


def _follow_lane(_: Behaviour, situation: Situation) -> Decision:
    return Decision(Behaviour.FOLLOW_LANE, _obstacles(situation) or (Cause(CauseKind.LANE_IS_FREE),))


_RULES: tuple[Rule, ...] = (
    _stop_for_fault,
    _back_up,
    _halt_in_oncoming_lane,
    _make_room,
    _leave_parking_space,
    _keep_aside,
    _change_lane,
    _drive_past,
    _end_pass,
    _wait_behind,
    _meet_demands,
    _follow_lane,
)
"""The rules in the order in which they are asked."""


def _obstacles(situation: Situation) -> tuple[Cause, ...]:
    """The first ones of each kind for which the ego leaves its lane, or waits in it."""
    return (
        *_first(CauseKind.STANDS_IN_LANE, situation.blocked_by),
        *_first(CauseKind.IS_SLOW, situation.slowed_by),
        *_first(CauseKind.BESIDE_LANE_CHANGE, situation.joins_beside),
    )


def _first(kind: CauseKind, ids: tuple[int, ...]) -> tuple[Cause, ...]:
    """The cause that names the first one; none where there is nobody."""
    return tuple(Cause(kind, str(number)) for number in ids[:1])


def _of(kind: CauseKind, constraint: Constraint) -> Cause:
    return Cause(kind, constraint.object_id, constraint.kind.value)


def _gap_cause(gap: Gap) -> Cause:
    if gap.behind is not None:
        return Cause(CauseKind.GAP_BEFORE, str(gap.behind))
    if gap.ahead is not None:
        return Cause(CauseKind.GAP_BEHIND, str(gap.ahead))
    return Cause(CauseKind.NEXT_LANE_IS_FREE)
