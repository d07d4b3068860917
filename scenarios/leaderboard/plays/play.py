"""`Play`, the script of a scenario type at one place, and the pieces that many scripts have in common."""

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
    """The script of a scenario at one place.

    * `script`: actors, flows and events in the form that YAML has. It has the events `BEGIN` and `END`.
    * `part`: further keys of the script's part, such as `allows_oncoming_lane`; see `scenarios.script.model.PartTable`.
    """

    script: dict[str, Any]
    part: dict[str, Any] = field(default_factory=dict)


BEGIN_WITHIN_M = 2.0
"""Distance before its trigger, along the route, at which a scenario begins."""

AT_ONCE_MPS2 = 200.0
"""Acceleration of actors that have their full speed at once."""

BEGIN, END = "begin", "end"
"""Names of the events that begin and end a scenario."""


def side_of(values: Values) -> float:
    """1.0 for the left side, -1.0 for the right."""
    return 1.0 if values["direction"] == "left" else -1.0


def begin(site: Site, do: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """The event that begins a scenario: the ego comes within 2 m of the trigger."""
    return {"name": BEGIN, "when": {"route_m": max(site.trigger_m - BEGIN_WITHIN_M, 0.0)}, "do": do or []}


def quiet_begin(
    site: Site, do: list[dict[str, Any]], others_wait: bool = False, exit_space_m: float = 0.0
) -> dict[str, Any]:
    """As `begin`, but background traffic also keeps out of the next junction until the ego has passed it.

    `others_wait` and `exit_space_m` are those of `av_core.orders.QuietJunction`.
    """
    quiet = {"others_wait": others_wait, "exit_space_m": exit_space_m}
    return begin(site, [{"quiet_junction": quiet}, *do])


NONE_ONCOMING: dict[str, Any] = {"oncoming_traffic": {"comes": False}}
"""Action: no oncoming background traffic from now on, because the scenario sends oncoming cars of its own."""

ONCOMING_AGAIN: dict[str, Any] = {"oncoming_traffic": {"comes": True}}
"""Action: oncoming background traffic again."""

NONE_FOLLOWING: dict[str, Any] = {"following_traffic": {"comes": False}}
"""Action: no new background traffic behind the ego from now on."""

FOLLOWING_AGAIN: dict[str, Any] = {"following_traffic": {"comes": True}}
"""Action: background traffic behind the ego again."""

LANE_CLOSED: dict[str, Any] = {"lane_traffic": {"comes": False}}
"""Action: no background traffic on the ego's lane from now on."""

LANE_OPEN: dict[str, Any] = {"lane_traffic": {"comes": True}}
"""Action: background traffic on the ego's lane again."""

EXIT_SPACE_M = 20.0
"""Space between the end of a stream and the background cars that wait behind the junction."""


def end(when: dict[str, Any], do: list[dict[str, Any]]) -> dict[str, Any]:
    """The event that ends a scenario when `when` holds after the scenario has begun; it does the actions `do`."""
    return {"name": END, "when": since(BEGIN, when), "do": do}


def since(event: str, when: dict[str, Any]) -> dict[str, Any]:
    """The condition that `event` has happened and `when` holds."""
    return {"all": [{"after": {"event": event}}, when]}


def soon_at(target: dict[str, Any], below_s: float, below_m: float) -> dict[str, Any]:
    """The condition that the ego would reach `target` in less than `below_s`, or is nearer to it than `below_m`.

    The distance counts because a slow ego would otherwise come too near before the condition holds.
    """
    return {"any": [{"arrival": {**target, "below_s": below_s}}, {"distance": {**target, "below_m": below_m}}]}


def gone(actors: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The actions that remove actors."""
    return [{"despawn": name} for name in actors]
