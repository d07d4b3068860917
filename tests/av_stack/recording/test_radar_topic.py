"""A recorded sweep is drawn where its returns are, to within the rounding."""

from __future__ import annotations

from pathlib import Path

import foxglove
import foxglove.channels as channels
import foxglove.messages as messages
import numpy as np
from mcap.reader import make_reader

from av_core.types import RadarSweep, Stamp
from av_stack.recording.radar_topic import COLUMNS, STEPS_PER_UNIT, radar_message
from sim_configs.load import load_rig


def test_a_sweep_is_written_with_its_places(tmp_path: Path) -> None:
    rng, radar = np.random.default_rng(1), load_rig("compact").radars[0]
    points = rng.uniform([1.0, -1.0, -0.1, -30.0], [100.0, 1.0, 0.1, 30.0], (70, 4)).astype(np.float32)
    sweep = RadarSweep(Stamp(3, 0.15), radar, points.astype(np.float64))
    context, path = foxglove.Context(), tmp_path / "radar.mcap"
    with foxglove.open_mcap(path, context=context):
        channel = channels.PointCloudChannel("/radar/x", context=context)
        channel.log(radar_message(sweep, messages.Timestamp(sec=0, nsec=150_000_000)), log_time=150_000_000)
    with path.open("rb") as file:
        ((schema, channel_read, message),) = make_reader(file).iter_messages()
    assert schema is not None
    assert (schema.name, channel_read.topic) == ("foxglove.PointCloud", "/radar/x")
    # the last field of the message is its data
    table = np.frombuffer(message.data[-4 * len(COLUMNS) * len(points) :], "<f4").reshape(-1, len(COLUMNS))
    rounding = 0.5 / STEPS_PER_UNIT + 1e-5
    assert np.abs(table[:, 3] - points[:, 3]).max() <= rounding
    assert np.abs(np.linalg.norm(table[:, :3], axis=1) - points[:, 0]).max() <= 3**0.5 * rounding
    across_m = points[:, 0] * np.cos(points[:, 2]) * np.sin(points[:, 1])
    assert np.abs(table[:, 1] - across_m).max() <= rounding
    assert np.array_equal(table * STEPS_PER_UNIT, np.round(table * STEPS_PER_UNIT))
