"""One scene out of what each perception module found in the same frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from av_stack.types import EgoState, LaneEstimate, Scene, TrackedObject, TrafficLightView


def assemble_scene(
    ego: EgoState,
    lanes: LaneEstimate,
    objects: Sequence[TrackedObject],
    lights: Mapping[str, TrafficLightView],
) -> Scene:
    """The scene at the ego state's stamp.

    Raises `ValueError` if the lanes belong to another frame: mixed frames would place things where they were.
    """
    if lanes.stamp.frame != ego.stamp.frame:
        raise ValueError(f"lanes are of frame {lanes.stamp.frame}, the ego state of frame {ego.stamp.frame}")
    return Scene(stamp=ego.stamp, ego=ego, lanes=lanes, objects=tuple(objects), lights=dict(lights))
