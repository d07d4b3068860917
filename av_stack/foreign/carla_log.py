"""Files of CARLA's recorder as a foreign source: the embedded server plays them, and renders our camera's pictures."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from av_core.errors import WorldError
from av_core.types import LaneGraph, SensorFrame
from av_stack.foreign.optics import Optics
from av_stack.run import DEFAULT_RIG
from av_stack.server_process import ServerProcess
from av_stack.world.factory import open_log
from av_stack.world.spec import DEFAULT_STEP_S
from sim_configs.load import load_rig

SIMULATED = "pictures and measurements are the embedded server's: the recording holds only where everything was"

VERSION_BYTES, DATE_BYTES, FRAME_END = 2, 8, 1
TEXT_LENGTH, PACKET_HEAD = struct.Struct("<H"), struct.Struct("<BI")
"""Parts of the file format of CARLA's recorder (version 1)."""


class CarlaLog:
    """A `ForeignSource` of the front camera of the compact rig, on the embedded server with the maps in `maps`, too.

    Raises WorldError where the server cannot play the recording.
    """

    kind = "CARLA recording"
    notes: Sequence[str] = (SIMULATED,)

    def __init__(self, path: Path, maps: Path | None) -> None:
        self.path = path
        self.problem: str | None = None
        self.lacks: Mapping[str, str] = {}
        self.pictures_per_s = 1.0 / DEFAULT_STEP_S
        rig = load_rig(DEFAULT_RIG["cpu"])
        camera = rig.cameras[0]
        self.optics = Optics(camera, None, False, ())
        more = () if maps is None else ("--maps", str(maps.resolve()))
        with ExitStack() as closers:
            folder = str(path.resolve().parent)
            address = closers.enter_context(ServerProcess(("--recordings", folder, *more)))
            only = replace(rig, cameras=(camera,), radars=())
            self._ego = closers.enter_context(closing(open_log(address, path.name, only)))
            self._closers = closers.pop_all()
        self.graph: LaneGraph | None = self._ego.lane_graph

    def frames(self) -> Iterator[SensorFrame]:
        try:
            while (frame := self._ego.tick()) is not None:
                yield frame
        except WorldError as error:
            self.problem = str(error)
            return
        if _is_cut_off(self.path):
            self.problem = "the recording is cut off"

    def close(self) -> None:
        self._closers.close()


def _is_cut_off(path: Path) -> bool:
    """Whether the file was cut off, so that it does not end with the end of a frame.

    The file is a header, then packets, each with a kind and a length.
    """
    with path.open("rb") as file:
        size_bytes = os.fstat(file.fileno()).st_size
        file.seek(VERSION_BYTES)
        for after_text in (DATE_BYTES, 0):  # the name of the format, the date, the map
            (length,) = TEXT_LENGTH.unpack(file.read(TEXT_LENGTH.size))
            file.seek(length + after_text, os.SEEK_CUR)
        kind = FRAME_END
        while (at := file.tell()) + PACKET_HEAD.size <= size_bytes:
            kind, length = PACKET_HEAD.unpack(file.read(PACKET_HEAD.size))
            file.seek(length, os.SEEK_CUR)
        return at != size_bytes or kind != FRAME_END
