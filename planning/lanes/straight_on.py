"""The way straight on where a lane ends: of the lanes that follow it, the one that turns least."""

from __future__ import annotations

import numpy as np

from av_core.types import Lane, LaneGraph, LaneKey


def turn_rad(lane: Lane) -> float:
    """How far a lane turns from its beginning to its end, without a sign; more than pi for a loop."""
    yaw = np.unwrap(lane.yaw_rad)
    return float(abs(yaw[-1] - yaw[0]))


def straight_on(graph: LaneGraph) -> dict[LaneKey, LaneKey | None]:
    """For each lane, the following one that turns least; None where the map ends."""
    turns = {key: turn_rad(lane) for key, lane in graph.lanes.items()}
    return {
        key: min((one for one in lane.successors if one in turns), key=turns.__getitem__, default=None)
        for key, lane in graph.lanes.items()
    }
