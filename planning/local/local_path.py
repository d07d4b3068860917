"""The local path: what `path_planner` hands to the rest of planning in one step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.types import Decision, Float, Indicator, Manoeuvre, Prediction
from planning.behaviour import Situation
from planning.reference_path import Route
from planning.speed import Motion

_INDICATED_S, _INDICATED_M = 3.0, 1.0
"""The ego indicates when its offset changes by more than this distance in this time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPath:
    """The path that the ego drives: `route` with its curve moved to the side.

    * `situation`, `decision`: what the planner knew, and what the ego does.
    * `offset_m` (N,): the offset from the route at the route's points, positive to the left.
    * `prediction`: as of the scene, with the obstacles beside the ego where they were last completely in view.
    * `stop_s_m`, `slower_mps`: where the search wants the ego to wait, and how much slower it should be for the next
      metres.
    * `schedule`: arc lengths and speeds, m/s. An ego that is no faster than these meets none of `met`: the track ids of
      oncoming vehicles, and of vehicles beside a fast ego.
    * `passed`: track ids of the road users that the path leads around, now or soon; `clear_of`: those of `passed` that
      it does not touch.
    * `let_by`: track ids of the vehicles for which the ego makes room; `obstacles`: those that block the lane for good.
    * `pulls_out`: whether the ego comes from the side of the road; `faces_oncoming`: whether the lane beside is an
      oncoming one.
    * `room_m`: gap between the ego's front and the first standing road user ahead that it wants to pass.
    * `is_about_to_pass`: whether the ego changes lanes soon, and needs less room to start.
    * `alternatives`: paths that the search found and the ego does not take, places (M, 2) in the map frame.
    """

    route: Route
    offset_m: Float
    prediction: Prediction
    situation: Situation
    decision: Decision
    manoeuvre: Manoeuvre = Manoeuvre.FOLLOW_LANE
    passed: frozenset[int] = frozenset()
    stop_s_m: float | None = None
    slower_mps: float | None = None
    schedule: tuple[Float, Float] | None = None
    met: frozenset[int] = frozenset()
    let_by: frozenset[int] = frozenset()
    clear_of: frozenset[int] = frozenset()
    obstacles: frozenset[int] = frozenset()
    pulls_out: bool = False
    room_m: float = float("inf")
    faces_oncoming: bool = False
    alternatives: tuple[Float, ...] = ()
    is_about_to_pass: bool = False

    @property
    def waits_to_pass(self) -> bool:
        """Whether the ego waits behind what it may pass, or beside the road."""
        return (bool(self.passed) or self.pulls_out) and not self.is_passing

    @property
    def is_passing(self) -> bool:
        """Whether the ego drives around what stands in its way now: it neither waits nor stays in its lane."""
        return self.schedule is not None and self.stop_s_m is None

    def indicator(self, s_m: float, motion: Motion) -> Indicator:
        """The side to which the ego moves in the next seconds, if it moves far."""
        then_s_m = float(np.interp(_INDICATED_S, motion.time_s, motion.s_m))
        now_m, then_m = np.interp([s_m, then_s_m], self.route.s_m, self.offset_m)
        if abs(then_m - now_m) < _INDICATED_M:
            return Indicator.OFF
        return Indicator.LEFT if then_m > now_m else Indicator.RIGHT
