"""Three short drives that the project keeps, and what the stack decides in them: tests replay them.

A kept drive holds what a replay without pictures reads, and nothing else: setup, sensors, truth, and of what was
decided the lanes and road users, which need pictures. Its reference holds every fifth step of what the other modules
decide, rounded.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import foxglove
import msgpack
import numpy as np
import yaml
from foxglove.mcap import MCAPWriteOptions
from mcap.reader import make_reader

from av_stack.agents.base import AgentStep
from av_stack.assembly import DETECTOR_ORACLES
from av_stack.recording.exact.packing import Unpacker, packer
from av_stack.recording.exact.topics import FRAME, SETUP, STEP, TRUTH
from av_stack.recording.mcap_file import McapFile
from av_stack.recording.recorder import RECORDING
from av_stack.replay.compare import Rules
from av_stack.replay.session import ReplayOptions, replay
from av_stack.run import Options, run
from scenarios.model import EgoTable, TrafficTable, load_scenario

FOLDER = Path("tests/av_stack/replay/kept")
SECONDS = 3.0
VEHICLES = 4
REFERENCE_EVERY_STEPS = 5
ROUNDING_STEPS = 1 << 14
"""Numbers of a reference are multiples of 1/16384."""

TOLERANCE = 1e-3
"""What counts as no difference, in the unit of each field: another processor adds in another order."""

COMPRESSION_LEVEL = 19
RIG = {
    "cameras": [
        {"name": "front", "width_px": 320, "height_px": 180, "fov_x_deg": 90.0, "x_m": 1.5, "y_m": 0.0, "z_m": 1.4}
    ]
}


@dataclass(frozen=True, slots=True)
class Kept:
    """A drive that is kept: its scenario, and the weather in which it is driven."""

    scenario: str
    weather: str


KEPT: Mapping[str, Kept] = {
    "city": Kept("town_drive", "ClearNoon"),
    "motorway": Kept("motorway_bend", "HardRainNoon"),
    "country_road": Kept("country_road_at_night", "ClearNight"),
}
RULES = Rules(tolerances=dict.fromkeys(("scene", "prediction", "plan", "command"), TOLERANCE))


def drive_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.mcap"


def reference_file(folder: Path, name: str) -> Path:
    return folder / f"{name}_reference.mcap"


def make_kept(folder: Path) -> dict[str, Any]:
    """Drive all of `KEPT` anew and replace the files; returns their sizes in bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, kept in KEPT.items():
        with tempfile.TemporaryDirectory() as made:
            path, whole = drive_file(folder, name), Path(made) / "reference.mcap"
            _write_drive(_driven(kept, Path(made)), path)
            replay(path, ReplayOptions((), reference=whole, is_update=True))
            _write_reference(whole, reference_file(folder, name))
    return {"bytes": {path.name: path.stat().st_size for path in sorted(folder.glob("*.mcap"))}}


def _driven(kept: Kept, folder: Path) -> Path:
    """The recording of a new drive."""
    rig = folder / "rig.yaml"
    rig.write_text(yaml.safe_dump(RIG))
    changes = {
        "timeout_s": SECONDS,
        "traffic": TrafficTable(vehicles=VEHICLES),
        "weather": kept.weather,
        "ego": EgoTable(rig=str(rig)),
    }
    scenario = load_scenario(kept.scenario).model_copy(update=changes)
    run(scenario, Options(out=folder / "drive", oracles=DETECTOR_ORACLES))
    return folder / "drive" / RECORDING


def _write_drive(recording: Path, to: Path) -> None:
    with recording.open("rb") as file, closing(_Copy(to)) as copy:
        for record in make_reader(file).iter_metadata():
            copy.write_metadata(record.name, record.metadata)
        file.seek(0)
        topics = [SETUP, FRAME, TRUTH, STEP]
        for schema, channel, message in make_reader(file).iter_messages(topics=topics, log_time_order=False):
            assert schema is not None
            data = message.data
            if channel.topic == STEP:
                data = packer(AgentStep).pack(_without_plans(Unpacker(AgentStep, schema.data).unpack(data)))
            copy.write(channel.topic, schema.name, schema.data, data, message.log_time)


def _without_plans(step: AgentStep) -> AgentStep:
    """The step without what a replay decides anew."""
    result = step.result
    assert result is not None
    curve = result.plan.trajectory.curve
    first = slice(0, 2)
    ways = {name: getattr(curve, name)[first] for name in ("s_m", "x_m", "y_m", "yaw_rad", "curvature_1pm")}
    trajectory = replace(
        result.plan.trajectory,
        curve=replace(curve, **ways),
        **{name: getattr(result.plan.trajectory, name)[first] for name in ("speed_mps", "accel_mps2", "time_s")},
    )
    decided = replace(
        result,
        plan=replace(result.plan, trajectory=trajectory),
        prediction=replace(result.prediction, objects=()),
    )
    return replace(step, result=decided)


def _write_reference(whole: Path, to: Path) -> None:
    with whole.open("rb") as file, closing(_Copy(to)) as copy:
        for number, (schema, channel, message) in enumerate(make_reader(file).iter_messages(log_time_order=False)):
            assert schema is not None
            if number % REFERENCE_EVERY_STEPS == 0:
                data = msgpack.packb(_rounded(msgpack.unpackb(message.data)))
                copy.write(channel.topic, schema.name, schema.data, data, message.log_time)


def _rounded(value: Any) -> Any:
    """A packed value with its numbers rounded; arrays are packed as type, shape and bytes."""
    if isinstance(value, float):
        return round(value * ROUNDING_STEPS) / ROUNDING_STEPS if np.isfinite(value) else value
    if isinstance(value, list):
        if len(value) == 3 and isinstance(value[2], bytes) and value[0] == "<f8":
            numbers = np.round(np.frombuffer(value[2], "<f8") * ROUNDING_STEPS) / ROUNDING_STEPS
            return [value[0], value[1], numbers.tobytes()]
        return [_rounded(one) for one in value]
    return value


class _Copy:
    """A recording in one chunk, compressed as far as it goes."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._context, self._file = foxglove.Context(), McapFile(path)
        options = MCAPWriteOptions(compression_level=COMPRESSION_LEVEL, chunk_size=1 << 30)
        self._writer = foxglove.open_mcap(self._file, context=self._context, writer_options=options)
        self._channels: dict[str, foxglove.Channel] = {}

    def write_metadata(self, name: str, metadata: Mapping[str, str]) -> None:
        self._writer.write_metadata(name, dict(metadata))

    def write(self, topic: str, kind: str, schema: bytes, data: bytes, time_ns: int) -> None:
        if topic not in self._channels:
            known = foxglove.Schema(name=kind, encoding="av_stack fields", data=schema)
            self._channels[topic] = foxglove.Channel(
                topic, message_encoding="msgpack", schema=known, context=self._context
            )
        self._channels[topic].log(data, log_time=time_ns)

    def close(self) -> None:
        self._writer.flush()
        self._file.commit()
        self._writer.close()
        self._file.close()
