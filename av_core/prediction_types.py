"""What other road users may do next: the possible motions of each over the next seconds.

Part of `av_core.types`, from which all of these types are imported; frames as there.
"""

from __future__ import annotations

from dataclasses import dataclass

from av_core.perception_types import TrackedObject
from av_core.sensor_types import Float, Stamp


@dataclass(frozen=True, slots=True)
class PredictedMode:
    """One way that a road user may take: its poses in the map frame, each (T,), at the times of the `Prediction`.

    `on_approach`: it is on a lane that is not yet inside a junction, and can still stop before it. `must_yield`: in
    addition, that lane or one of its successors has a stop or yield sign.
    """

    x_m: Float
    y_m: Float
    yaw_rad: Float
    on_approach: bool = False
    must_yield: bool = False


@dataclass(frozen=True, slots=True)
class PredictedObject:
    """A road user and its possible ways, all of which count; none for a road user that stands.

    `item` is the tracked object with its velocity limited to what its kind can do.
    """

    item: TrackedObject
    modes: tuple[PredictedMode, ...] = ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """Where the road users of the scene at `stamp` will be, in the scene's order.

    Tracks that make no sense are left out; `rejected` is their number. Of several tracks with one id, only the first
    keeps it.

    `times_s` (T,) counts from the stamp, begins with 0 and rises; T is at least 1.
    """

    stamp: Stamp
    times_s: Float
    objects: tuple[PredictedObject, ...]
    rejected: int = 0

    @property
    def horizon_s(self) -> float:
        """The last of the predicted times."""
        return float(self.times_s[-1])
