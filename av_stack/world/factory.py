"""Opens the world of a drive: on a CARLA server, or from a recording. A new transport gets a function here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from av_core.types import LaneGraph, Rig
from av_stack.world.base import World
from av_stack.world.spec import Address, WorldSpec

if TYPE_CHECKING:
    from av_stack.world.carla.recorded import RecordedEgo
    from av_stack.world.replay import ReplayWorld


def open_world(source: Address, spec: WorldSpec) -> World:
    """The world that `spec` describes, on the CARLA server at `source`; the caller closes it.

    Raises WorldError and ConfigError as `CarlaWorld` does.
    """
    from av_stack.world.carla.world import CarlaWorld

    return CarlaWorld(source, spec)


def open_recorded(path: Path) -> ReplayWorld:
    """The world that the recording `path` holds; the caller closes it. Raises ConfigError as `ReplayWorld` does."""
    from av_stack.world.replay import ReplayWorld

    return ReplayWorld(path)


def open_log(source: Address, name: str, rig: Rig) -> RecordedEgo:
    """The recording of CARLA's recorder that the server at `source` knows by `name`; the caller closes it.

    Raises WorldError as `RecordedEgo` does.
    """
    from av_stack.world.carla.recorded import RecordedEgo

    return RecordedEgo(source, name, rig)


def served_lane_graph(source: Address, town: str) -> LaneGraph:
    """The lanes of a town that the CARLA server at `source` has; it loads the town. Raises WorldError."""
    from av_stack.world.carla.episode import read_served_map

    return read_served_map(source, town)
