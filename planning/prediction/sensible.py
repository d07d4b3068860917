"""The boundary between perception and planning: which tracks make sense, and how many do not.

Nothing behind it meets a number that is not finite, a body without size, or two road users with one id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from av_core.types import TrackedObject

_FARTHEST = 1e6
"""Metres and radians beyond this are an error in a track."""

_FASTEST_MPS, _LONGEST_M = 150.0, 100.0
"""No road user is faster, or longer or wider, than this."""


@dataclass(frozen=True, slots=True)
class SensibleTracks:
    """The tracks that make sense, each with an id of its own, and how many were `rejected`."""

    items: tuple[TrackedObject, ...]
    rejected: int


def sensible_tracks(objects: Sequence[TrackedObject]) -> SensibleTracks:
    """Leave out the tracks with a number that cannot be.

    Where several have the same id, the later ones get new ids: each of them may be a real road user.
    """
    kept = [item for item in objects if _is_sensible(item)]
    used = {item.track_id for item in kept}
    if len(used) < len(kept):
        kept = _renumbered(kept, max(used) + 1)
    return SensibleTracks(tuple(kept), len(objects) - len(kept))


def _is_sensible(item: TrackedObject) -> bool:
    """Whether all numbers of a track are finite and possible."""
    is_placed = all(abs(number) < _FARTHEST for number in (item.x_m, item.y_m, item.yaw_rad))
    has_size = all(0.0 < size < _LONGEST_M for size in (item.length_m, item.width_m))
    return is_placed and has_size and item.speed_mps < _FASTEST_MPS  # each is false for NaN


def _renumbered(items: Sequence[TrackedObject], next_id: int) -> list[TrackedObject]:
    used: set[int] = set()
    found = []
    for item in items:
        if item.track_id in used:
            item, next_id = replace(item, track_id=next_id), next_id + 1
        used.add(item.track_id)
        found.append(item)
    return found
