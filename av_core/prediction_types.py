"""What other road users may do next: the possible motions of each over the next seconds.

Part of `av_core.types`, from which all of these types are imported; frames as there.
"""

from __future__ import annotations

from dataclasses import dataclass

from av_core.perception_types import TrackedObject
from av_core.sensor_types import Float, Stamp


@dataclass(frozen=True, slots=True)
class PredictedMode:
    """One possible motion of a road user: its poses in the map frame, each (T,), at the times of the `Prediction`.

    * `on_approach`: the road user is on a lane before a junction, and can still stop before the junction.
    * `must_yield`: in addition, that lane or one of its successors has a stop or yield sign.
    """

    x_m: Float
    y_m: Float
    yaw_rad: Float
    on_approach: bool = False
    must_yield: bool = False


@dataclass(frozen=True, slots=True)
class PredictedObject:
    """A road user and its possible motions; a road user that stands has none.

    The planner has to treat every mode as possible. `item` is the tracked object, its velocity limited to what its
    kind of road user can reach.
    """

    item: TrackedObject
    modes: tuple[PredictedMode, ...] = ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """Where the road users of the scene at `stamp` may be over the next seconds, in the scene's order.

    `times_s` (T,) counts from the stamp, begins with 0 and increases; T is at least 1. `rejected` is the number of
    tracks that were left out because their values are impossible. Of several tracks with one id, only the first keeps
    the id.
    """

    stamp: Stamp
    times_s: Float
    objects: tuple[PredictedObject, ...]
    rejected: int = 0

    @property
    def horizon_s(self) -> float:
        """The last of the predicted times."""
        return float(self.times_s[-1])
