"""Oracle of the traffic lights: takes their states from the simulator's truth. For diagnosis only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from av_core.types import LaneGraph, SignalKind, TrafficLightView, Truth


class LightOracle:
    """Oracle: the simulator's light states, limited to lights with a stop line within `range_m` of the ego."""

    def __init__(self, graph: LaneGraph, range_m: float = 80.0) -> None:
        lights = [s for s in graph.signals if s.kind is SignalKind.TRAFFIC_LIGHT and s.lane in graph.lanes]
        self._ids = tuple(s.signal_id for s in lights)
        stops = [graph.lanes[signal.lane].curve.pose_at(signal.stop_s_m)[:2] for signal in lights]
        self._stops = np.array(stops, dtype=np.float64).reshape(-1, 2)
        self._range_m = range_m

    def update(self, truth: Truth) -> Mapping[str, TrafficLightView]:
        """The states of the map's lights that the simulator reports, by signal id."""
        distance = np.hypot(self._stops[:, 0] - truth.ego.x_m, self._stops[:, 1] - truth.ego.y_m)
        near = dict.fromkeys(self._ids[i] for i in np.flatnonzero(distance <= self._range_m))
        return {name: TrafficLightView(name, truth.lights[name]) for name in near if name in truth.lights}
