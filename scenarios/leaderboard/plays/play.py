"""What a scenario type becomes at a place: a script, and what a drive has to know about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scenarios.leaderboard.plays.site import Site

Values = Mapping[str, Any]
"""The parameters of a scenario by name; sides are "left" or "right"."""

CARS = ("vehicle.audi.a2", "vehicle.nissan.patrol", "vehicle.seat.leon", "vehicle.toyota.prius")
"""Cars of a stream."""


@dataclass(frozen=True, slots=True)
class Play:
    """`script` has actors, flows and events as YAML would write them; two events have the names of `BEGIN` and `END`.

    `part` says what else holds while the scenario lasts, as a script's part says it.
    """

    script: dict[str, Any]
    part: dict[str, Any] = field(default_factory=dict)


BEGIN_WITHIN_M = 2.0
"""A scenario begins when the ego is so near to its trigger."""

AT_ONCE_MPS2 = 200.0
"""Acceleration of those that have their full speed at once."""

BEGIN, END = "begin", "end"
"""Names of the events with which a scenario begins and ends."""


def side_of(values: Values) -> float:
    """1.0 for the left side, -1.0 for the right."""
    return 1.0 if values["direction"] == "left" else -1.0


def begin(site: Site, do: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """The event that begins a scenario: the ego comes within 2 m of the trigger."""
    return {"name": BEGIN, "when": {"route_m": max(site.trigger_m - BEGIN_WITHIN_M, 0.0)}, "do": do or []}


def quiet_begin(
    site: Site, do: list[dict[str, Any]], others_wait: bool = False, exit_space_m: float = 0.0
) -> dict[str, Any]:
    """The same where background traffic keeps out of the junction until the ego has passed it."""
    quiet = {"others_wait": others_wait, "exit_space_m": exit_space_m}
    return begin(site, [{"quiet_junction": quiet}, *do])


NONE_ONCOMING: dict[str, Any] = {"oncoming_traffic": {"comes": False}}
ONCOMING_AGAIN: dict[str, Any] = {"oncoming_traffic": {"comes": True}}
"""Background traffic does not come towards the ego where a scenario sends its own."""

NONE_FOLLOWING: dict[str, Any] = {"following_traffic": {"comes": False}}
FOLLOWING_AGAIN: dict[str, Any] = {"following_traffic": {"comes": True}}
LANE_CLOSED: dict[str, Any] = {"lane_traffic": {"comes": False}}
LANE_OPEN: dict[str, Any] = {"lane_traffic": {"comes": True}}

EXIT_SPACE_M = 20.0
"""Behind the end of a stream, background traffic that waits behind the junction leaves so much space."""


def end(when: dict[str, Any], do: list[dict[str, Any]]) -> dict[str, Any]:
    """The event that ends a scenario; never before it has begun."""
    return {"name": END, "when": since(BEGIN, when), "do": do}


def since(event: str, when: dict[str, Any]) -> dict[str, Any]:
    """The condition `when`, from an event on."""
    return {"all": [{"after": {"event": event}}, when]}


def soon_at(target: dict[str, Any], below_s: float, below_m: float) -> dict[str, Any]:
    """Holds when the ego would be at a target in `below_s`, or is nearer than `below_m`, however slow it is."""
    return {"any": [{"arrival": {**target, "below_s": below_s}}, {"distance": {**target, "below_m": below_m}}]}


def gone(actors: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The actions that remove actors."""
    return [{"despawn": name} for name in actors]
