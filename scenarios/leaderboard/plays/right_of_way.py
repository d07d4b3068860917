"""Junction scenarios about the right of way: the ego has it, or another vehicle does not give way to the ego.

Times, speeds and distances are those of scenario_runner v0.9.16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from av_core.curve import Curve
from av_core.types import Lane, Pose2D
from scenarios.leaderboard.plays.junction import Junction
from scenarios.leaderboard.plays.lane_walk import LaneSpot, walk_ahead, walk_back
from scenarios.leaderboard.plays.play import (
    AT_ONCE_MPS2,
    BEGIN,
    END,
    Play,
    Values,
    begin,
    end,
    gone,
    quiet_begin,
    since,
    soon_at,
)
from scenarios.leaderboard.plays.site import Site, on_map

SOURCE_M = 30.0
"""Distance before the junction at which the other vehicle starts."""

SINK_M = 10.0
"""Distance behind the junction at which its path ends."""

PARALLEL_SINE = 0.3
"""Two lines count as parallel if the sine of the angle between them is smaller than this."""

OTHER_MPS = 60.0 / 3.6
BEFORE_S, CLOSE_M = 2.2, 12.0


def priority(site: Site, values: Values) -> Play:
    """The ego's light is green and all others are red, until the ego has passed the junction."""
    junction = site.junction
    own = junction.lights_of(junction.entry)
    do = [*show(own, "green"), *show(junction.other_lights(own), "red")]
    return Play({"events": [begin(site, do), end(passed_junction(site), release(junction))]})


def running_red(site: Site, values: Values) -> Play:
    """The ego has green, and an emergency vehicle crosses against red."""
    junction = site.junction
    own = junction.lights_of(junction.entry)
    lights = [*show(own, "green"), *show(junction.other_lights(own), "red")]
    return _crossing(site, values, lights, release(junction), others_wait=False)


def taking_priority(site: Site, values: Values) -> Play:
    """At a junction without lights an emergency vehicle crosses without giving way."""
    return _crossing(site, values, [], [], others_wait=True)


def _crossing(
    site: Site, values: Values, at_begin: list[dict[str, Any]], at_end: list[dict[str, Any]], others_wait: bool
) -> Play:
    """Another vehicle crosses the junction at a constant speed, without braking for anybody, when the ego comes.

    It starts so that it meets the ego, and is removed after a fixed time. Its path may lead to the ego's own exit.
    """
    junction = site.junction
    entry = junction.entries(values["direction"])[-1]
    source = walk_back(site.graph, LaneSpot(entry, entry.length_m), SOURCE_M)
    sink = walk_ahead(site.graph, LaneSpot(junction.crossing_exit(entry), 0.0), SINK_M)
    way = site.ways.between(source.pose, sink.pose, "the other vehicle").curve
    actors = {"other": {"blueprint": "vehicle.dodge.charger_police_2020", "place": on_map(source.pose), "waits": True}}
    drive = {
        "follow_lane": {
            "actor": "other",
            "speed_mps": OTHER_MPS,
            "distance_m": way.length_m,
            "acceleration_mps2": AT_ONCE_MPS2,
        }
    }
    soon = since(BEGIN, soon_at({"place": on_map(_meeting(junction, entry, way))}, BEFORE_S, CLOSE_M))
    appear: list[dict[str, Any]] = [{"spawn": "other"}, {"lights": {"actor": "other", "emergency": True}}]
    gone_s = float(np.hypot(sink.pose.x_m - source.pose.x_m, sink.pose.y_m - source.pose.y_m)) / OTHER_MPS
    over = {"all": [{"after": {"event": "crossed"}}, passed_junction(site)]}
    events = [
        quiet_begin(site, [*at_begin, *appear], others_wait),
        {"name": "cross", "when": soon, "until": END, "do": [drive]},
        {"name": "crossed", "when": {"after": {"event": "cross", "delay_s": gone_s}}, "do": gone(actors)},
        end(over, at_end),
    ]
    return Play({"actors": actors, "events": events})


def _meeting(junction: Junction, entry: Lane, way: Curve) -> Pose2D:
    """The point where the straight lines of the two approaches meet; if they are nearly parallel, the point where the
    two paths come nearest to each other.
    """
    own = junction.curve
    x, y, yaw = float(own.x_m[0]), float(own.y_m[0]), float(own.yaw_rad[0])
    its_yaw = float(entry.curve.yaw_rad[-1])
    sine = np.sin(its_yaw - yaw)
    if abs(sine) > PARALLEL_SINE:
        dx, dy = float(entry.curve.x_m[-1]) - x, float(entry.curve.y_m[-1]) - y
        along_m = float((dx * np.sin(its_yaw) - dy * np.cos(its_yaw)) / sine)
        return Pose2D(x + along_m * np.cos(yaw), y + along_m * np.sin(yaw), yaw)
    gap_m = np.hypot(own.x_m[:, None] - way.x_m[None, :], own.y_m[:, None] - way.y_m[None, :])
    row = int(np.argmin(gap_m.min(axis=1)))
    return Pose2D(float(own.x_m[row]), float(own.y_m[row]), float(own.yaw_rad[row]))


def passed_junction(site: Site, by_m: float = 0.0) -> dict[str, Any]:
    """The condition that the ego has left the junction."""
    return {"route_m": site.trigger_m + site.junction.exit_m + by_m}


def show(ids: tuple[str, ...], state: str) -> list[dict[str, Any]]:
    """The action that holds the lights `ids` in a state, as a list; empty if there are no lights."""
    return [{"signal": {"ids": list(ids), "state": state}}] if ids else []


def release(junction: Junction) -> list[dict[str, Any]]:
    """The action that releases all lights of a junction, as a list."""
    return [{"release_signal": {"ids": list(junction.other_lights(()))}}]


def red_then_green(site: Site, streams: tuple[Lane, ...] = ()) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(actions at the beginning, actions after 5 s) that hold the junction's lights.

    The ego's lights are red, and then green. The lights of the lanes `streams` are green, and all others are red.
    """
    junction = site.junction
    own = junction.lights_of(junction.entry)
    free = tuple(light for lane in streams for light in junction.lights_of(lane) if light not in own)
    first = [*show(own, "red"), *show(free, "green"), *show(junction.other_lights((*own, *free)), "red")]
    return first, show(own, "green")
