"""Vehicles in the ego's way: behind its turn, on the wrong side of a bend, or in a hurry behind it.

Times, speeds and distances are those of scenario_runner v0.9.16.
"""

from __future__ import annotations

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
    quiet_begin,
    since,
)
from scenarios.leaderboard.plays.site import Site, on_map

BLOCKER_M, BLOCKER_NEAR_M, BLOCKER_S = 5.0, 13.0, 10.0

INVADED_BEYOND_M = 30.0
"""Distance behind the end of the stretch at which the oncoming cars start."""

INVADER_GAP_M = 40.0
"""Distance between two oncoming cars."""

INVADER_HALF_M = 0.7
"""Half the width of an oncoming car, as the original counts it."""

CONES_FROM_M, CONES_EVERY_M, CONES_SHARE = 10.0, 5.0, 0.8
INVADED_WITHIN_M = 50.0

FASTER_MPS, HURRY_MPS2 = 25.0, 20.0
HURRY_NEAR_M, HURRY_S, HURRY_PAST_M = 50.0, 10.0, 50.0


def behind_the_turn(site: Site, values: Values) -> Play:
    """A car stands behind the junction, and is removed 10 s after the ego has come near."""
    actors = {
        "blocker": {
            "blueprint": "vehicle.nissan.patrol",
            "place": site.place(site.junction.exit_m + BLOCKER_M),
            "waits": True,
        }
    }
    near = since(BEGIN, {"distance": {"actor": "blocker", "below_m": BLOCKER_NEAR_M}})
    events = [
        quiet_begin(site, [{"spawn": "blocker"}, {"lights": {"actor": "blocker", "brake": True}}], others_wait=True),
        {"name": "near", "when": near, "do": []},
        end({"after": {"event": "near", "delay_s": BLOCKER_S}}, gone(actors)),
    ]
    return Play({"actors": actors, "events": events})


def invading(site: Site, values: Values) -> Play:
    """Oncoming cars pass a row of cones on their lane, and so drive partly on the ego's lane."""
    distance_m = values["distance"]
    far_m = distance_m + INVADED_BEYOND_M
    source, sink = site.oncoming_spot(far_m), site.oncoming_spot(0.0)
    actors: dict[str, Any] = {}
    for number in range(1, int(0.5 * distance_m / CONES_EVERY_M) + 1):
        spot = site.oncoming_spot(far_m - CONES_FROM_M - CONES_EVERY_M * number)
        place = on_map(spot.beside(-CONES_SHARE * spot.width_m / 2.0))
        actors[f"cone_{number}"] = {"blueprint": "static.prop.constructioncone", "place": place}
    flow = {
        "start": on_map(source.pose),
        "end": on_map(sink.pose),
        "speed_mps": site.limit_mps(),
        "gap_m": [INVADER_GAP_M, INVADER_GAP_M],
        "blueprints": list(CARS),
        "yields": "always",
        "offset_m": values["offset"] + sink.width_m / 2.0 - INVADER_HALF_M,
        "clears": True,
    }
    far = site.place(far_m)
    over = {"all": [{"passed": {"place": far}}, {"distance": {"place": far, "below_m": INVADED_WITHIN_M}}]}
    events = [
        begin(site, [LANE_CLOSED, NONE_ONCOMING, {"start_flow": "invaders"}]),
        end(over, [{"clear_flow": "invaders"}, LANE_OPEN, ONCOMING_AGAIN, *gone(actors)]),
    ]
    return Play({"actors": actors, "flows": {"invaders": flow}, "events": events})


def emergency(site: Site, values: Values) -> Play:
    """An emergency vehicle comes from behind, much faster than the ego, and brakes behind it.

    As in the original, the ego's lane has no background traffic meanwhile.
    """
    start = site.spot_behind(values["distance"])
    actors = {"rescue": {"blueprint": "vehicle.ford.ambulance", "place": on_map(start.pose), "waits": True}}
    follow = {
        "actor": "rescue",
        "ego_share": 1.0,
        "over_ego_mps": FASTER_MPS,
        "acceleration_mps2": HURRY_MPS2,
        "yields": True,
        "clears": True,
        "distance_m": 5000.0,
    }
    appear: list[dict[str, Any]] = [
        {"spawn": "rescue"},
        {"lights": {"actor": "rescue", "emergency": True}},
        {"follow_lane": follow},
    ]
    near = since(BEGIN, {"distance": {"actor": "rescue", "below_m": HURRY_NEAR_M}})
    ahead = since(BEGIN, {"passed": {"of": "rescue", "actor": "ego", "by_m": 5.0}})
    late = {"after": {"event": "near", "delay_s": HURRY_S}}
    past = {"driven": {"of": "rescue", "event": "ahead", "by_m": HURRY_PAST_M}}
    events = [
        begin(site, [LANE_CLOSED, *appear]),
        {"name": "near", "when": near, "until": END, "do": []},
        {"name": "ahead", "when": ahead, "until": END, "do": []},
        end({"any": [late, past]}, [*gone(actors), LANE_OPEN]),
    ]
    return Play({"actors": actors, "events": events}, {"emergency": "rescue"})
