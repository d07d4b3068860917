"""The boundary to a simulator: the `World` protocol, which holds all that the runner may ask of a simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from av_core.types import ControlCommand, Image, LaneGraph, SensorFrame, Truth, VehicleParameters

PictureWatch = Callable[[str, Image], None]
"""Receives a camera's name and its picture, (height, width, 3) BGR: the same array that the tick's frame will hold."""


class World(Protocol):
    """A running, synchronous simulation with one ego vehicle.

    Order of use: construct, then `tick`, `apply`, `tick`, `apply`, ...; `close` once, also after an error.
    """

    @property
    def lane_graph(self) -> LaneGraph:
        """The map, converted once; the same object for the world's whole life."""
        ...

    @property
    def vehicle(self) -> VehicleParameters:
        """The ego's geometry."""
        ...

    def show_pictures(self, watch: PictureWatch) -> None:
        """Pass each picture that `tick` is going to return to `watch` as soon as it arrives, in another thread."""
        ...

    def tick(self) -> SensorFrame:
        """Advance one step and return what every sensor measured in exactly that step.

        Raises `WorldError` when the simulator does not answer or a sensor sends no data.
        """
        ...

    def apply(self, command: ControlCommand) -> None:
        """Apply `command` to the ego from the next tick on, until the next call."""
        ...

    def truth(self) -> Truth:
        """The simulator's ground truth of the last tick; for scoring and oracles only."""
        ...

    def close(self) -> None:
        """Destroy what this world spawned and restore the simulator's settings. Safe to call twice."""
        ...
