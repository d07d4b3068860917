"""The whole boundary to a simulation: what the runner may ask of a world that holds one ego vehicle."""

from __future__ import annotations

from typing import Protocol

from av_stack.types import ControlCommand, LaneGraph, SensorFrame, Truth, VehicleParameters


class World(Protocol):
    """A running, synchronous simulation with one ego.

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

    def tick(self) -> SensorFrame:
        """Advance one step and return what every sensor measured in exactly that step.

        Raises `WorldError` when the simulator does not answer or a sensor stays silent.
        """
        ...

    def apply(self, command: ControlCommand) -> None:
        """Hold `command` on the ego from the next tick on."""
        ...

    def truth(self) -> Truth:
        """What the simulator knows of the last tick; for scoring and oracles only."""
        ...

    def close(self) -> None:
        """Destroy what this world spawned and give back the simulator's settings. Safe to call twice."""
        ...
