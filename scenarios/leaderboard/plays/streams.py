"""Streams of vehicles that the ego enters, crosses or leaves.

Times, speeds and distances are those of scenario_runner v0.9.16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from av_core.errors import RouteError
from scenarios.leaderboard.plays.lane_walk import LaneSpot, neighbour, same_way_lanes
from scenarios.leaderboard.plays.play import (
    CARS,
    EXIT_SPACE_M,
    FOLLOWING_AGAIN,
    NONE_FOLLOWING,
    NONE_ONCOMING,
    ONCOMING_AGAIN,
    Play,
    Values,
    begin,
    end,
    quiet_begin,
)
from scenarios.leaderboard.plays.site import Site, on_map

ARRIVED_M = 2.0
"""Distance from the end of a stream below which the ego has reached it; having just passed it counts, too."""

PASSED_WITHIN_M = 10.0


def enter(site: Site, values: Values) -> Play:
    """The ego joins a stream that fills all lanes of its direction."""
    source, sink = _ends(site, values)
    pairs = list(zip(same_way_lanes(site.graph, source), same_way_lanes(site.graph, sink), strict=False))
    return _joined(site, values, pairs, [to for _, to in pairs])


def enter_beside(site: Site, values: Values) -> Play:
    """The ego joins a stream on one lane; it may arrive on any lane of the stream's direction."""
    source, sink = _ends(site, values)
    return _joined(site, values, [(source, sink)], same_way_lanes(site.graph, sink))


def leave(site: Site, values: Values) -> Play:
    """The ego crosses a stream to leave the road; the scenario ends behind the junction where the ego leaves."""
    source, sink = _ends(site, values)
    flows = {"stream": _stream(values, source, sink, "everywhere")}
    return _play(site, flows, {"route_m": site.trigger_m + site.junction.exit_m}, is_quiet=False)


def turn_off(site: Site, values: Values) -> Play:
    """The ego turns left off the road, across an oncoming stream."""
    source, sink = _ends(site, values)
    flows = {"stream": _stream(values, source, sink, "no")}
    return _play(site, flows, {"route_m": site.trigger_m + site.junction.exit_m}, oncoming=False)


def turn_onto(site: Site, values: Values) -> Play:
    """The ego turns left onto the road: across one stream, and into another on the lane to the left of the first."""
    source, sink = _ends(site, values)
    back = neighbour(site.graph, sink, 1.0), neighbour(site.graph, source, 1.0)
    if back[0] is None or back[1] is None:
        raise RouteError("there is no lane to the left of the stream for the second one")
    flows = {
        "stream": _stream(values, source, sink, "no"),
        "second": _stream(values, back[0], back[1], "no"),
    }
    return _play(site, flows, _passed(back[1]), oncoming=False, sink=sink)


def stream(
    source: LaneSpot, sink: LaneSpot, speed_mps: float, gap_m: tuple[float, float], filled: str
) -> dict[str, Any]:
    """A flow of cars from `source` to `sink`; they brake for nobody until the ego collides with one of them."""
    return {
        "start": on_map(source.pose),
        "end": on_map(sink.pose),
        "speed_mps": speed_mps,
        "gap_m": list(gap_m),
        "blueprints": list(CARS),
        "yields": "after_collision",
        "filled": filled,
        "clears": True,
    }


def _ends(site: Site, values: Values) -> tuple[LaneSpot, LaneSpot]:
    return site.spot_at(values["start_actor_flow"]), site.spot_at(values["end_actor_flow"])


def _stream(values: Values, source: LaneSpot, sink: LaneSpot, filled: str) -> dict[str, Any]:
    return stream(source, sink, values["flow_speed"], values["source_dist_interval"], filled)


def _joined(site: Site, values: Values, ways: list[tuple[LaneSpot, LaneSpot]], sinks: list[LaneSpot]) -> Play:
    """Streams on the paths `ways`; the scenario ends when the ego reaches one of `sinks`."""
    flows = {
        f"stream_{number}": _stream(values, source, sink, "everywhere") for number, (source, sink) in enumerate(ways)
    }
    arrived = [{"distance": {"place": on_map(sink.pose), "below_m": ARRIVED_M}} for sink in sinks]
    return _play(site, flows, {"any": [*arrived, *map(_passed, sinks)]}, sink=sinks[0])


def _passed(sink: LaneSpot) -> dict[str, Any]:
    place = on_map(sink.pose)
    return {"all": [{"passed": {"place": place}}, {"distance": {"place": place, "below_m": PASSED_WITHIN_M}}]}


def _play(
    site: Site,
    flows: dict[str, Any],
    over: dict[str, Any],
    *,
    is_quiet: bool = True,
    oncoming: bool = True,
    sink: LaneSpot | None = None,
) -> Play:
    """Flows that run from the trigger until the condition `over` holds.

    * `is_quiet`: background traffic keeps out of the next junction meanwhile.
    * `oncoming`: whether there is oncoming background traffic meanwhile.
    * `sink`: the end of the stream, if the ego drives in the stream up to there. Then no new background traffic comes
      behind the ego.
    """
    starts: list[dict[str, Any]] = [{"start_flow": name} for name in flows]
    stops: list[dict[str, Any]] = [{"clear_flow": name} for name in flows]
    if not oncoming:
        starts, stops = [NONE_ONCOMING, *starts], [*stops, ONCOMING_AGAIN]
    space_m = 0.0
    if sink is not None:
        starts, stops = [NONE_FOLLOWING, *starts], [*stops, FOLLOWING_AGAIN]
        behind = site.spot(site.junction.exit_m).pose
        space_m = EXIT_SPACE_M + float(np.hypot(sink.pose.x_m - behind.x_m, sink.pose.y_m - behind.y_m))
    first = quiet_begin(site, starts, exit_space_m=space_m) if is_quiet else begin(site, starts)
    return Play({"flows": flows, "events": [first, end(over, stops)]})
