"""A car on a slip road that comes onto the motorway together with the ego, and cuts in.

Times, speeds and distances are those of scenario_runner v0.9.16.
"""

from __future__ import annotations

from av_core.errors import RouteError
from scenarios.leaderboard.plays.lane_walk import LaneSpot, is_same_way, neighbour, straightest, through, walk_ahead
from scenarios.leaderboard.plays.play import BEGIN, END, Play, Values, begin, end, gone, since
from scenarios.leaderboard.plays.site import Site, on_map

BEYOND_JUNCTION_M = 10.0
THERE_M = 5.0
EGO_SHARE = 0.8
BEFORE_CHANGE_S, CHANGE_S, AFTER_CHANGE_S = 0.3, 2.0, 3.0
GONE_BY_M = 200.0
"""Distance of the ego behind the junction at which the scenario ends at the latest."""


def cut_in(site: Site, values: Values) -> Play:
    """The car reaches the end of the junction with the ego, and changes to the left, slower than the ego."""
    spot = site.spot_at(values["other_actor_location"])
    behind = _junction_exit(site, spot)
    target = walk_ahead(site.graph, behind, BEYOND_JUNCTION_M)
    left = neighbour(site.graph, target, 1.0)
    if left is None or not is_same_way(target, left):
        raise RouteError("the slip road of other_actor_location does not lead to a lane beside the motorway's")
    actors = {"cutter": {"blueprint": "vehicle.seat.leon", "place": on_map(spot.pose), "waits": True}}
    at, ego_at = on_map(target.pose), site.place(site.junction.exit_m)
    meet = {"meet": {"actor": "cutter", "at": at, "ego_at": ego_at}}
    there = since(BEGIN, {"distance": {"of": "cutter", "place": at, "below_m": THERE_M}})
    change = {
        "change_lane": {
            "actor": "cutter",
            "to": "left",
            "ego_share": EGO_SHARE,
            "fixed": True,
            "within_s": CHANGE_S,
            "yields": True,
        }
    }
    length_s = BEFORE_CHANGE_S + CHANGE_S + AFTER_CHANGE_S
    gone_by = {"route_m": site.trigger_m + site.junction.exit_m + GONE_BY_M}
    events = [
        begin(site, [{"spawn": "cutter"}, meet]),
        {"name": "there", "when": there, "until": END, "do": []},
        {
            "name": "change",
            "when": {"after": {"event": "there", "delay_s": BEFORE_CHANGE_S}},
            "until": END,
            "do": [change],
        },
        end({"any": [{"after": {"event": "there", "delay_s": length_s}}, gone_by]}, gone(actors)),
    ]
    return Play({"actors": actors, "events": events})


def _junction_exit(site: Site, spot: LaneSpot) -> LaneSpot:
    """The place right behind the next junction on the path of a vehicle that starts at `spot`."""
    lane, seen = spot.lane, {spot.lane.key}
    while not lane.is_junction:
        following = [site.graph.lanes[key] for key in lane.successors if key in site.graph.lanes and key not in seen]
        if not following:
            raise RouteError("the road of other_actor_location does not lead to a junction")
        lane = straightest(following)
        seen.add(lane.key)
    found = through(site.graph, lane, straightest)
    if found is None:
        raise RouteError("the road of other_actor_location ends in a junction")
    return LaneSpot(found, 0.0)
