"""The rules of an explanation as tables: the outcomes of branches, the branch that they ask for, and the verdict."""

from __future__ import annotations

from itertools import product

import pytest

from av_stack.explain.verdict import (
    ALL_ORACLES,
    AUTOPILOT,
    MEANINGS,
    NO_CHANGE,
    Cause,
    Outcome,
    Verdict,
    next_change,
    outcome,
    verdict,
)
from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction

ORACLES = ("detection", "lights", "localization")
H, A, O, F = Outcome.HAPPENS, Outcome.AVOIDED, Outcome.OTHER, Outcome.FAILED  # noqa: E741

CAR, WALKER, RED, TIME = (
    InfractionKind.COLLISION_VEHICLE,
    InfractionKind.COLLISION_WALKER,
    InfractionKind.RED_LIGHT,
    InfractionKind.ROUTE_TIMEOUT,
)


def named(control: Outcome, *others: Outcome) -> dict[str, Outcome]:
    """Outcomes without a change, with each oracle, with all oracles, and with the autopilot, as far as given."""
    changes = (NO_CHANGE, *ORACLES, ALL_ORACLES, AUTOPILOT)
    return dict(zip(changes, (control, *others), strict=False))


@pytest.mark.parametrize(
    ("outcomes", "cause", "modules"),
    [
        ((A,), Cause.NOT_REPRODUCED, ()),
        ((O,), Cause.NOT_REPRODUCED, ()),
        ((F,), Cause.UNDECIDED, ()),
        ((H, A, H, H), Cause.MODULE, ("detection",)),
        ((H, O, F, A), Cause.MODULE, ("localization",)),
        ((H, A, H, A), Cause.MODULE, ("detection", "localization")),
        ((H, H, F, H), Cause.UNDECIDED, ()),
        ((H, H, O, H, A), Cause.TOGETHER, ()),
        ((H, H, H, H, F), Cause.UNDECIDED, ()),
        ((H, H, H, H, H, A), Cause.DECISION, ()),
        ((H, H, H, H, O, A), Cause.DECISION, ()),
        ((H, H, H, H, H, H), Cause.UNAVOIDABLE, ()),
        ((H, H, H, H, H, O), Cause.UNDECIDED, ()),
        ((H, H, H, H, H, F), Cause.UNDECIDED, ()),
    ],
)
def test_the_outcomes_settle_the_verdict(outcomes: tuple[Outcome, ...], cause: Cause, modules: tuple[str, ...]) -> None:
    found = named(*outcomes)
    assert verdict(found, ORACLES) == Verdict(cause, modules)
    assert next_change(found, ORACLES) is None


@pytest.mark.parametrize(
    ("outcomes", "change"),
    [
        ((H,), "detection"),
        ((H, A), "lights"),
        ((H, A, H), "localization"),
        ((H, H, H, H), ALL_ORACLES),
        ((H, H, H, H, H), AUTOPILOT),
        ((H, O, H, O, O), AUTOPILOT),
    ],
)
def test_the_branch_that_is_needed_next(outcomes: tuple[Outcome, ...], change: str) -> None:
    assert next_change(named(*outcomes), ORACLES) == change


def test_at_first_the_drive_goes_on_unchanged() -> None:
    assert next_change({}, ORACLES) == NO_CHANGE


def test_a_single_oracle_that_the_drive_did_not_have_is_all_of_them() -> None:
    alone = {NO_CHANGE: H, "lights": H}
    assert next_change(alone, ("lights",)) == AUTOPILOT
    assert verdict({**alone, AUTOPILOT: A}, ("lights",)) == Verdict(Cause.DECISION)


def test_a_drive_with_all_oracles_leaves_the_autopilot() -> None:
    assert next_change({NO_CHANGE: H}, ()) == AUTOPILOT
    assert verdict({NO_CHANGE: H, AUTOPILOT: H}, ()) == Verdict(Cause.UNAVOIDABLE)


@pytest.mark.parametrize("count", range(len(ORACLES) + 1))
def test_whatever_the_branches_show_there_is_a_verdict(count: int) -> None:
    oracles = ORACLES[:count]
    for shown in product(Outcome, repeat=count + 3):
        left, found = list(shown), dict[str, Outcome]()
        while (change := next_change(found, oracles)) is not None:
            assert change not in found
            found[change] = left.pop()
        assert verdict(found, oracles).cause in set(MEANINGS) - {Cause.NOT_EXPLAINED}


def test_the_words_name_every_module_that_avoids_it() -> None:
    assert Verdict(Cause.MODULE, ("detection", "lights")).words == "detection or lights"
    assert Verdict(Cause.UNAVOIDABLE).words == "unavoidable"


def logged(kind: InfractionKind, time_s: float) -> LoggedInfraction:
    return LoggedInfraction(kind, time_s, 1.0, 2.0, "words")


@pytest.mark.parametrize(
    ("happened", "unchanged", "expected"),
    [
        ((), (), A),
        ((logged(CAR, 12.0),), (), H),
        ((logged(CAR, 15.0),), (), H),  # only put off
        ((logged(CAR, 6.2),), (), A),  # the one before it, which happens again
        ((logged(CAR, 6.2), logged(CAR, 11.0)), (), H),
        ((logged(WALKER, 11.0),), (CAR,), O),
        ((logged(RED, 11.0),), (CAR, RED), A),  # it happens without a change too
        ((logged(TIME, 14.0),), (), A),  # the end of the window
    ],
)
def test_what_a_branch_shows_of_the_second_collision(
    happened: tuple[LoggedInfraction, ...], unchanged: tuple[InfractionKind, ...], expected: Outcome
) -> None:
    assert outcome(logged(CAR, 12.0), happened, [logged(CAR, 6.0)], unchanged) is expected
