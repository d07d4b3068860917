"""The `World` protocol: everything that the stack may ask of a simulator or of a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from av_core.orders import Order
from av_core.types import ControlCommand, Image, LaneGraph, SensorFrame, Truth, VehicleParameters

PictureWatch = Callable[[str, Image], None]
"""Receives a camera's name and its picture, (height, width, 3) BGR: the same array that the tick's frame will hold."""


class World(Protocol):
    """A synchronous simulation with one ego vehicle, running or recorded.

    Order of use: construct, then `tick`, `apply`, `tick`, `apply`, ... until the drive is over or `tick` returns None;
    `close` once, also after an error.
    """

    @property
    def server_version(self) -> str:
        """Version of the simulator, or of the one that the recording was made on; part of a drive's result."""
        ...

    @property
    def lane_graph(self) -> LaneGraph:
        """The map, converted once; the same object for the world's whole life."""
        ...

    @property
    def map_text(self) -> str:
        """The map's OpenDRIVE text, from which `lane_graph` was made."""
        ...

    @property
    def vehicle(self) -> VehicleParameters:
        """The ego's geometry."""
        ...

    def show_pictures(self, watch: PictureWatch) -> None:
        """Pass each picture that `tick` is going to return to `watch` as soon as it arrives, maybe in another thread.

        All calls for the pictures of one tick are over when `tick` returns them.
        """
        ...

    def tick(self) -> SensorFrame | None:
        """Advance one step and return what every sensor measured in exactly that step.

        Each frame's stamp is one step after the last one's. Returns None at the end of a recorded world, and from then
        on; a simulation has no end. Raises `WorldError` when the simulator does not answer or a sensor sends no data.
        """
        ...

    def apply(self, command: ControlCommand) -> None:
        """Apply `command` to the ego from the next tick on, until the next call. A recorded ego does not obey it."""
        ...

    def direct(self, orders: Sequence[Order]) -> None:
        """Carry out the orders of a scenario's script before the next tick. A recorded world does not obey them.

        Raises `ConfigError` where the place of an actor that is needed is taken, and for a blueprint, door or signal
        that does not exist.
        """
        ...

    def truth(self) -> Truth:
        """The simulator's ground truth of the last tick, with the frame's stamp. `Truth` says who may read it."""
        ...

    def close(self) -> None:
        """Release what this world holds: destroy what it spawned, restore settings. Safe to call twice."""
        ...
