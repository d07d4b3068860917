"""A small recorded world: it replays ticks from a list, and ends after them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from av_core.orders import Order
from av_core.types import ControlCommand, LaneGraph, Rig, SensorFrame, Truth, VehicleParameters
from av_stack.agents.base import AgentStep
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.writer import Recording
from av_stack.world.base import PictureWatch, World
from scenarios.judging.judge import Progress

Tick = tuple[SensorFrame, Truth]


class ListWorld:
    """Replays `ticks`; its ego does not obey. Keeps the commands that it was given."""

    def __init__(
        self,
        lane_graph: LaneGraph,
        vehicle: VehicleParameters,
        server_version: str,
        ticks: Sequence[Tick],
        map_text: str = "",
    ) -> None:
        self.lane_graph, self.vehicle, self.server_version = lane_graph, vehicle, server_version
        self.map_text = map_text
        self.commands: list[ControlCommand] = []
        self._ticks, self._done = list(ticks), 0
        self._watch: PictureWatch | None = None

    def show_pictures(self, watch: PictureWatch) -> None:
        self._watch = watch

    def tick(self) -> SensorFrame | None:
        if self._done == len(self._ticks):
            return None
        self._done += 1
        frame, _ = self._ticks[self._done - 1]
        for name, image in frame.cameras.items():
            if self._watch is not None:
                self._watch(name, image.bgr)
        return frame

    def apply(self, command: ControlCommand) -> None:
        self.commands.append(command)

    def direct(self, orders: Sequence[Order]) -> None:
        """Recorded actors do not obey."""

    def truth(self) -> Truth:
        return self._ticks[max(self._done - 1, 0)][1]

    def close(self) -> None:
        self._watch = None

    def from_the_start(self, ticks: int | None = None) -> ListWorld:
        """The same recording, or its first ticks, none of which was played yet."""
        return ListWorld(self.lane_graph, self.vehicle, self.server_version, self._ticks[:ticks], self.map_text)


def recorded(world: World, ticks: int) -> ListWorld:
    """The next `ticks` of `world`."""
    kept = []
    for _ in range(ticks):
        frame = world.tick()
        assert frame is not None
        kept.append((frame, world.truth()))
    return ListWorld(world.lane_graph, world.vehicle, world.server_version, kept, world.map_text)


def write_recording(world: World, rig: Rig, path: Path) -> Path:
    """Record what is left of `world`, as of an agent that is not the stack; returns `path`."""
    setup = DriveSetup(
        map_name=world.lane_graph.name,
        map_text=world.map_text,
        vehicle=world.vehicle,
        rig=rig,
        scenario="{}",
        stack="{}",
        seed=3,
        agent="straight",
        oracles=(),
        device="cpu",
        weights="",
        server_version=world.server_version,
        versions={},
        step_s=0.05,
        has_pictures=True,
    )
    writer = Recording(path, {}, setup=setup)
    while (frame := world.tick()) is not None:
        writer.write(frame, AgentStep(ControlCommand(0.0, 1.0, 0.0)), world.truth(), Progress(0.0, 10.0, None))
    writer.close()
    return path
