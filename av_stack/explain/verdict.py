"""The rules of an explanation: which branch is driven next, and the verdict that the outcomes lead to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction

EXPLAINED = frozenset(
    {
        InfractionKind.COLLISION_WALKER,
        InfractionKind.COLLISION_VEHICLE,
        InfractionKind.COLLISION_STATIC,
        InfractionKind.RED_LIGHT,
        InfractionKind.STOP_SIGN,
        InfractionKind.OUTSIDE_LANES,
        InfractionKind.DEVIATION,
        InfractionKind.BLOCKED,
    }
)
"""Kinds of infractions that can be explained: those decided in the last seconds before them.

The others result from long parts of a drive."""

SAME_S = 0.5
"""Largest difference in time between two infractions of one kind that count as the same, in recording and branch."""

NO_CHANGE, ALL_ORACLES, AUTOPILOT = "no change", "all oracles", "autopilot"
"""Names of the changes that are not a single oracle. The change to a single oracle has the oracle's name."""


class Outcome(str, Enum):
    """The outcome of a branch for the infraction that is explained."""

    HAPPENS = "happens"
    AVOIDED = "avoided"
    OTHER = "another infraction"
    FAILED = "failed"


class Cause(str, Enum):
    """The cause of an infraction, as far as branches can show it."""

    MODULE = "module"
    TOGETHER = "several together"
    DECISION = "prediction, planner or control"
    UNAVOIDABLE = "unavoidable"
    UNDECIDED = "undecided"
    NOT_REPRODUCED = "not reproduced"
    NOT_EXPLAINED = "not explained"


MEANINGS = {
    Cause.MODULE: "it does not happen when the simulator's truth replaces the output of this module alone",
    Cause.TOGETHER: "it happens with each oracle alone, and does not happen with all of them",
    Cause.DECISION: "it happens with all oracles, and not when CARLA's autopilot drives on",
    Cause.UNAVOIDABLE: "it happens with all oracles, and also when CARLA's autopilot drives on",
    Cause.UNDECIDED: "a branch failed, or CARLA's autopilot has another infraction instead",
    Cause.NOT_REPRODUCED: "it does not happen again without a change",
    Cause.NOT_EXPLAINED: "it comes from a long part of the drive, not from the last seconds before it",
}
"""Each cause in a sentence."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The cause of an infraction; `modules` are those whose oracle alone avoids it."""

    cause: Cause
    modules: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The verdict in a few words."""
        return " or ".join(self.modules) if self.cause is Cause.MODULE else self.cause.value


def next_change(outcomes: Mapping[str, Outcome], oracles: Sequence[str]) -> str | None:
    """The change of the branch to drive next; None where `outcomes`, by change, settle the verdict.

    `oracles` are those that the drive did not have.
    """
    if NO_CHANGE not in outcomes:
        return NO_CHANGE
    if outcomes[NO_CHANGE] is not Outcome.HAPPENS:
        return None
    left = [name for name in oracles if name not in outcomes]
    if left:
        return left[0]
    changes = [*oracles, ALL_ORACLES] if len(oracles) > 1 else oracles
    if any(outcomes.get(name) in (Outcome.AVOIDED, Outcome.FAILED) for name in changes):
        return None
    return next((name for name in (*changes, AUTOPILOT) if name not in outcomes), None)


def verdict(outcomes: Mapping[str, Outcome], oracles: Sequence[str]) -> Verdict:
    """What the outcomes of all branches that `next_change` asks for say together."""
    if outcomes[NO_CHANGE] is not Outcome.HAPPENS:
        return Verdict(Cause.UNDECIDED if outcomes[NO_CHANGE] is Outcome.FAILED else Cause.NOT_REPRODUCED)
    modules = tuple(name for name in oracles if outcomes[name] is Outcome.AVOIDED)
    if modules:
        return Verdict(Cause.MODULE, modules)
    if Outcome.FAILED in outcomes.values():
        return Verdict(Cause.UNDECIDED)
    if outcomes.get(ALL_ORACLES) is Outcome.AVOIDED:
        return Verdict(Cause.TOGETHER)
    of_autopilot = {Outcome.AVOIDED: Cause.DECISION, Outcome.HAPPENS: Cause.UNAVOIDABLE}
    return Verdict(of_autopilot.get(outcomes[AUTOPILOT], Cause.UNDECIDED))


def outcome(
    infraction: LoggedInfraction,
    happened: Sequence[LoggedInfraction],
    earlier: Sequence[LoggedInfraction],
    unchanged: Collection[InfractionKind],
) -> Outcome:
    """What a branch shows, in whose window `happened`.

    `earlier` are the infractions of the recorded drive before the one explained: they count for nothing if they happen
    again. Nor does an infraction of the kinds in `unchanged`, which happen without a change too.
    """
    kinds = {one.kind for one in happened if not any(_is_same(one, other) for other in earlier)}
    if infraction.kind in kinds:
        return Outcome.HAPPENS
    return Outcome.OTHER if kinds & EXPLAINED - set(unchanged) else Outcome.AVOIDED


def _is_same(one: LoggedInfraction, other: LoggedInfraction) -> bool:
    return one.kind is other.kind and abs(one.time_s - other.time_s) <= SAME_S
