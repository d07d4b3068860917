"""Obstacles in the ego's lane: accidents, parked cars, road works, slow bicycles, a door that opens.

Distances and offsets are those of scenario_runner v0.9.16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scenarios.leaderboard.plays.play import (
    BEGIN,
    CARS,
    END,
    LANE_CLOSED,
    LANE_OPEN,
    NONE_ONCOMING,
    ONCOMING_AGAIN,
    Play,
    Values,
    begin,
    end,
    gone,
    side_of,
    since,
    soon_at,
)
from scenarios.leaderboard.plays.site import Site

NEAR_M = 50.0
"""Distance from the obstacle below which the ego counts as near."""

DOOR_HALF_WIDTH_M = 0.94
"""Half the width of the parked car with the door."""

SPACE_M = 20.0
"""Background traffic on the ego's lane is removed up to this distance behind the obstacle.

It would not stop for the obstacle, because it sees neither signs nor doors."""

MORE_SPACE_M = 30.0
"""Additional distance of the background traffic ahead of the ego where bicycles are the obstacle."""

NEAR_CONES_M = 30.0
"""Distance from the cones of a construction site below which the ego counts as near."""

PASSED_M = 50.0
"""The scenario ends when the ego has passed the obstacle by this distance, or earlier at the next junction."""

CONES_SHARE = 0.85
"""Offset of the inner row of cones from the lane's centre, as a fraction of half the lane's width."""

ARROW_TURN_DEG = 90.0
"""Angle by which the trailer with the arrow is turned to the left of the lane's direction."""

SIGN_SHARE = 0.3
"""Distance of a warning sign outside the middle of the strip beside the road, as a fraction of a lane's width."""

FLOW_AFTER_S = 5.0
"""Time after the ego has come near at which oncoming traffic starts, or traffic of the ego's direction slows down."""

FLOW_MIN_M = 30.0
"""Oncoming traffic starts this distance, plus `FLOW_M_PER_KMH` times its speed, behind the obstacle, and ends as far
before it."""

FLOW_M_PER_KMH = 1.5
"""See `FLOW_MIN_M`."""


def accident(site: Site, values: Values) -> Play:
    """A police car with its beacons on, and two crashed cars 10 m and 16 m behind it."""
    start = values["distance"]
    offset = 0.6 * side_of(values) * site.half_lane_m(start)
    actors = {
        "police": {"blueprint": "vehicle.dodge.charger_police_2020", "place": site.place(start, offset)},
        "first": {"blueprint": "vehicle.audi.tt", "place": site.place(start + 10.0, offset)},
        "second": {"blueprint": "vehicle.seat.leon", "place": site.place(start + 16.0, offset)},
        "sign": _sign(site, "static.prop.warningaccident", side_of(values)),
    }
    beacons = [{"lights": {"actor": "police", "emergency": True}}]
    return _obstacle(site, actors, start + 16.0, _near("first"), _behind(site, start + 16.0), beacons)


def parked(site: Site, values: Values) -> Play:
    """A badly parked car with its hazard lights on."""
    start = values["distance"]
    offset = 0.7 * side_of(values) * site.half_lane_m(start)
    actors = {
        "parked": {"blueprint": "vehicle.seat.leon", "place": site.place(start, offset)},
        "sign": _sign(site, "static.prop.warningaccident", side_of(values)),
    }
    hazard = [{"lights": {"actor": "parked", "hazard": True}}]
    return _obstacle(site, actors, start, _near("parked"), _behind(site, start), hazard)


def construction(site: Site, values: Values) -> Play:
    """A trailer with a lit arrow, debris, four cones along the lane's inner edge, and three across the lane."""
    start, side = values["distance"], side_of(values)
    inner = -side * CONES_SHARE * site.half_lane_m(start)
    actors = {
        "sign": _sign(site, "static.prop.warningconstruction", side),
        "arrow": {"blueprint": "static.prop.trafficwarning", "place": site.place(start - 5.0, 0.0, ARROW_TURN_DEG)},
        "debris": {"blueprint": "static.prop.dirtdebris02", "place": site.place(start + 2.0)},
    }
    cones = [(2.0 * number, inner) for number in range(1, 5)]
    cones += [(cones[-1][0], inner + side * number) for number in range(1, 4)]
    for number, (along, offset) in enumerate(cones):
        actors[f"cone_{number}"] = {
            "blueprint": "static.prop.constructioncone",
            "place": site.place(start + along, offset),
        }
    at = {"place": site.place(start), "below_m": NEAR_CONES_M}
    return _obstacle(site, actors, start, at, _behind(site, start), [LANE_CLOSED], [LANE_OPEN])


def bicycles(site: Site, values: Values) -> Play:
    """Two bicycles, 9 m apart, that ride at the right edge of the lane and then stop."""
    start = values["distance"]
    offset = -0.55 * site.half_lane_m(start)
    names = {"first": start + 9.0, "second": start}
    actors = {
        name: {"blueprint": "vehicle.diamondback.century", "place": site.place(at, offset)}
        for name, at in names.items()
    }
    end = values["bicycle_drive_distance"]
    ride = [
        {
            "drive": {
                "actor": name,
                "through": [site.place(at + 0.1 * part * end, offset) for part in range(1, 11)],
                "speed_mps": values["bicycle_speed"] / 3.6,
            }
        }
        for name, at in names.items()
    ]
    passed = {"passed": {"actor": "first", "by_m": PASSED_M}}
    more, usual = ({"traffic_ahead": {"space_m": space_m}} for space_m in (MORE_SPACE_M, 0.0))
    return _obstacle(site, actors, start + 9.0, _near("second"), passed, [more, *ride], [usual])


def door(site: Site, values: Values) -> Play:
    """A car parked at the kerb, which opens the door on the side of the traffic just before the ego comes."""
    start, side = values["distance"], side_of(values)
    offset = side * site.beside_traffic_m(start, side, DOOR_HALF_WIDTH_M)
    actors = {"parked": {"blueprint": "vehicle.dodge.charger_2020", "place": site.place(start, offset)}}
    opened = {"open_door": {"actor": "parked", "door": "front_left" if side < 0.0 else "front_right"}}
    play = _obstacle(site, actors, start, _near("parked"), _behind(site, start), [])
    soon = since(BEGIN, soon_at({"actor": "parked"}, 3.0, 10.0))
    play.script["events"].insert(1, {"name": "door", "when": soon, "do": [opened, {"stop_traffic": {"behind": True}}]})
    play.script["events"][-1]["do"].append({"start_traffic": {}})
    return play


def one_way(obstacle: Callable[[Site, Values], Play]) -> Callable[[Site, Values], Play]:
    """A variant of `obstacle` with a free lane in the ego's direction, whose traffic slows down."""

    def play(site: Site, values: Values) -> Play:
        made = obstacle(site, values)
        slow = {
            "name": "slow",
            "when": {"after": {"event": "near", "delay_s": FLOW_AFTER_S}},
            "until": END,
            "do": [{"cap_traffic": {"speed_mps": values["speed"] / 3.6}}],
        }
        made.script["events"].insert(-1, slow)
        made.script["events"][-1]["do"].append({"cap_traffic": {}})
        return made

    return play


def two_ways(obstacle: Callable[[Site, Values], Play]) -> Callable[[Site, Values], Play]:
    """A variant of `obstacle` that the ego can pass only in the oncoming lane, on which cars come."""

    def play(site: Site, values: Values) -> Play:
        made = obstacle(site, values)
        at, limit_mps = values["distance"], site.limit_mps()
        reach = FLOW_MIN_M + FLOW_M_PER_KMH * 3.6 * limit_mps
        ahead = min(reach, site.free_of_junctions_m(at, back=False))
        behind = min(reach, site.free_of_junctions_m(at, back=True))
        gap = values["frequency"]
        made.script["flows"] = {
            "oncoming": {
                "start": site.oncoming(at + ahead),
                "end": site.oncoming(at - behind),
                "speed_mps": limit_mps,
                "gap_m": list(gap) if isinstance(gap, tuple) else [gap, gap],
                "blueprints": list(CARS),
                "yields": "always",
                "clears": True,
            }
        }
        start = {
            "name": "flow",
            "when": {"after": {"event": "near", "delay_s": FLOW_AFTER_S}},
            "until": END,
            "do": [NONE_ONCOMING, {"start_flow": "oncoming"}],
        }
        made.script["events"].insert(-1, start)
        made.script["events"][-1]["do"] += [{"clear_flow": "oncoming"}, ONCOMING_AGAIN]
        return Play(made.script, {**made.part, "allows_oncoming_lane": True})

    return play


def _sign(site: Site, blueprint: str, side: float) -> dict[str, Any]:
    """A warning sign beside the road at the trigger."""
    return {"blueprint": blueprint, "place": site.place(0.0, side * site.beside_road_m(0.0, side, SIGN_SHARE))}


def _behind(site: Site, last_m: float) -> dict[str, Any]:
    """The condition that the ego has passed an obstacle whose end is `last_m` after the trigger."""
    return {"route_m": site.trigger_m + last_m + min(PASSED_M, site.free_of_junctions_m(last_m, back=False))}


def _obstacle(
    site: Site,
    actors: dict[str, Any],
    last_m: float,
    near: dict[str, Any],
    passed: dict[str, Any],
    at_start: list[dict[str, Any]],
    at_end: Sequence[dict[str, Any]] = (),
) -> Play:
    """The actors and events of an obstacle whose end is `last_m` after the trigger.

    `near` is the distance condition for the event "near", `passed` the condition that ends the scenario. Background
    traffic between the ego and the obstacle is removed, unless `at_start` closes the lane to all of it.
    """
    free = [] if LANE_CLOSED in at_start else [{"leave_space": {"within_m": last_m + SPACE_M}}]
    events = [
        begin(site, [*free, *at_start]),
        {"name": "near", "when": since(BEGIN, {"distance": near}), "do": []},
        end(passed, [*gone(actors), *at_end]),
    ]
    return Play({"actors": actors, "events": events})


def _near(actor: str) -> dict[str, Any]:
    return {"actor": actor, "below_m": NEAR_M}
