"""Compares two drives of one scenario step by step: when they begin to differ, and how far they are apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from av_core.types import Stamp, Truth
from av_stack.replay.compare import Difference, differences
from av_stack.replay.recorded_drive import DrivenStep

APART_M = (0.0, 0.1, 1.0)
"""Distances between the egos of both drives; the report gives the first time at which each is exceeded."""


@dataclass(frozen=True, slots=True)
class First:
    """The first difference of a kind, and when it was."""

    stamp: Stamp
    difference: Difference

    @classmethod
    def of(cls, stamp: Stamp, name: str, there: Any, now: Any) -> First | None:
        """The first field of `name` in which two values differ, at `stamp`; None where they are equal."""
        found = next(differences(there, now, name), None)
        return None if found is None else cls(stamp, found)


class Divergence:
    """Collects how a drive diverges from a recorded one; call `add` with both sides of every step, in order.

    * `apart`: for each distance of `APART_M`, the first stamp at which the two egos were farther apart.
    * `farthest_m`, `farthest_at`: the largest distance, and its stamp.
    * `equal_steps`: number of steps whose truth, measurements (without pictures) and command are equal to the bit.
    """

    def __init__(self) -> None:
        self.steps = self.equal_steps = 0
        self.measured: First | None = None
        self.command: First | None = None
        self.truth: First | None = None
        self.apart: dict[float, Stamp] = {}
        self.farthest_m = 0.0
        self.farthest_at: Stamp | None = None

    @property
    def is_equal(self) -> bool:
        """Whether all steps are equal, pictures left out."""
        return self.equal_steps == self.steps

    def add(self, there: DrivenStep, now: DrivenStep) -> None:
        """Take in one step."""
        self.steps += 1
        is_same_world = there.packed_truth == now.packed_truth
        is_measured_alike = there.packed_frame == now.packed_frame
        is_same_command = there.command == now.command
        self.equal_steps += is_same_world and is_measured_alike and is_same_command
        if not is_measured_alike:
            self.measured = self.measured or First.of(now.stamp, "measured", there.frame, now.frame)
        if not is_same_command:
            self.command = self.command or First.of(now.stamp, "command", there.command, now.command)
        if not is_same_world:
            self.truth = self.truth or First.of(now.stamp, "truth", there.truth, now.truth)
            self._measure(there.truth, now.truth)

    def _measure(self, there: Truth, now: Truth) -> None:
        distance_m = math.hypot(now.ego.x_m - there.ego.x_m, now.ego.y_m - there.ego.y_m)
        for limit_m in APART_M:
            if distance_m > limit_m or (limit_m == 0.0 and now.ego != there.ego):
                self.apart.setdefault(limit_m, now.stamp)
        if distance_m > self.farthest_m:
            self.farthest_m, self.farthest_at = distance_m, now.stamp
