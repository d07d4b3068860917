"""Turns at junctions: across a stream, into a stream, or without other traffic.

Times, speeds and distances are those of scenario_runner v0.9.16 and of Bench2Drive's fork of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from av_core.errors import RouteError
from av_core.types import Lane
from scenarios.leaderboard.plays.lane_walk import LaneSpot, walk_ahead, walk_back
from scenarios.leaderboard.plays.play import (
    BEGIN,
    END,
    EXIT_SPACE_M,
    NONE_ONCOMING,
    ONCOMING_AGAIN,
    Play,
    Values,
    begin,
    end,
    quiet_begin,
)
from scenarios.leaderboard.plays.right_of_way import passed_junction, red_then_green, release, show
from scenarios.leaderboard.plays.site import Site
from scenarios.leaderboard.plays.streams import stream

GREEN_AFTER_S = 5.0
"""Time from the beginning of the scenario to the change of the ego's light."""

END_M = 10.0
"""The scenario ends when the ego is this far behind the junction."""

ACROSS_S = (4.0, 2.5)
"""A stream that the ego crosses starts before the junction and ends behind it, at its speed times these two times."""

INTO_S = (5.0, 3.0)
"""As `ACROSS_S`, for a stream that the ego joins."""

Builder = Callable[[Site, Values], Play]


def left_across(has_lights: bool) -> Builder:
    """The ego turns left across an oncoming stream."""

    def play(site: Site, values: Values) -> Play:
        lanes = [lane for lane in site.junction.entries("opposite") if site.junction.leads_straight(lane)]
        if not lanes:
            raise RouteError("no lane opposite the ego leads straight through the junction after the trigger")
        lane = lanes[int(site.rng.integers(len(lanes)))]
        return _turn(site, values, lane, site.junction.straight_exit(lane), ACROSS_S, "no", has_lights)

    return play


def left_into(has_lights: bool) -> Builder:
    """The ego turns left into the road into which an oncoming stream turns right."""

    def play(site: Site, values: Values) -> Play:
        junction = site.junction
        for lane in junction.entries("opposite"):
            sink = junction.right_exit(lane)
            if sink is not None and sink.key.road_id == junction.exit.key.road_id:
                return _turn(site, values, lane, sink, ACROSS_S, "no", has_lights)
        raise RouteError("no lane opposite the ego leads into the road to which the ego turns")

    return play


def right_into(has_lights: bool) -> Builder:
    """The ego turns right into a stream from its left."""

    def play(site: Site, values: Values) -> Play:
        lane = site.junction.rightmost_entry("left")
        if not site.junction.leads_straight(lane):
            raise RouteError("no lane from the left leads straight through the junction after the trigger")
        sink = site.junction.straight_exit(lane)
        return _turn(site, values, lane, sink, INTO_S, "outside_junctions", has_lights)

    return play


def _turn(
    site: Site,
    values: Values,
    source: Lane,
    sink: Lane,
    seconds: tuple[float, float],
    filled: str,
    has_lights: bool,
) -> Play:
    """A turn of the ego with a stream from the lane `source` through the junction to the lane `sink`.

    `seconds` is `ACROSS_S` or `INTO_S`, `filled` as in `FlowTable`. The stream ends when the ego has turned.
    """
    speed_mps = values["flow_speed"]
    start = walk_back(site.graph, LaneSpot(source, source.length_m), seconds[0] * speed_mps)
    stop = walk_ahead(site.graph, LaneSpot(sink, 0.0), seconds[1] * speed_mps)
    flow = stream(start, stop, speed_mps, values["source_dist_interval"], filled)
    first, then = red_then_green(site, (source,)) if has_lights else ([], [])
    none, again = ([NONE_ONCOMING], [ONCOMING_AGAIN]) if seconds is ACROSS_S else ([], [])
    first_event = quiet_begin(
        site,
        [*none, *first, {"start_flow": "stream"}],
        others_wait=not has_lights,
        exit_space_m=EXIT_SPACE_M + seconds[1] * speed_mps,
    )
    events = [first_event, *_after(then)]
    over = [{"clear_flow": "stream"}, *again, *(release(site.junction) if has_lights else [])]
    events.append(end(passed_junction(site, END_M), over))
    return Play({"flows": {"stream": flow}, "events": events})


def _after(then: list[dict[str, Any]]) -> list[dict[str, Any]]:
    when = {"after": {"event": BEGIN, "delay_s": GREEN_AFTER_S}}
    return [{"name": "change", "when": when, "until": END, "do": then}] if then else []


def alone(site: Site, values: Values) -> Play:
    """The ego turns, and nothing else happens."""
    return Play({"events": [begin(site), end(passed_junction(site, END_M), [])]})


def alone_at_red(site: Site, values: Values) -> Play:
    """The ego's light is red for 5 s, and then green."""
    first, then = red_then_green(site)
    over = end(passed_junction(site, END_M), release(site.junction))
    return Play({"events": [begin(site, first), *_after(then), over]})


def alone_at_green(site: Site, values: Values) -> Play:
    """The ego's light is green for 5 s and then red for 5 s; afterwards the lights change by themselves."""
    junction = site.junction
    own = junction.lights_of(junction.entry)
    first = [*show(own, "green"), *show(junction.other_lights(own), "red")]
    free = {
        "name": "free",
        "when": {"after": {"event": BEGIN, "delay_s": 2.0 * GREEN_AFTER_S}},
        "until": END,
        "do": release(junction),
    }
    over = end(passed_junction(site, END_M), release(junction))
    return Play({"events": [begin(site, first), *_after(show(own, "red")), free, over]})


def drive_on(site: Site, values: Values) -> Play:
    """The ego drives 200 m along its route, and nothing else happens."""
    return Play({"events": [begin(site), end({"route_m": site.trigger_m + 200.0}, [])]})
