"""The stack drives on the embedded server through the real wheel: a while in traffic, and twice the same."""

from __future__ import annotations

import json
from pathlib import Path

import av
import pytest
from mcap.reader import make_reader

from av_stack.run import Options, run
from av_stack.world.spec import Address
from scenarios.model import load_scenario


def messages(path: Path, topic: str) -> list[bytes]:
    with path.open("rb") as file:
        return [message.data for _, _, message in make_reader(file).iter_messages(topics=[topic])]


def truths(path: Path) -> list[bytes]:
    return messages(path, "/truth")


def test_twenty_seconds_of_town_traffic(city_server: Address, tmp_path: Path) -> None:
    """By the camera alone, round a corner at a crossroads: no infraction, in its lane, localized; recording, video and
    result hold every step, the lights among them."""
    scenario = load_scenario("town_drive").model_copy(update={"timeout_s": 20.0})
    figures = run(scenario, Options(address=city_server, out=tmp_path)).figures
    assert figures["end"].startswith("time-out")
    assert figures["collisions"] == figures["red_lights"] == figures["stop_signs"] == 0
    assert figures["driven_m"] > 100.0
    assert figures["outside_lane_m"] == 0.0
    assert figures["lateral_rms_m"] < 0.25
    assert figures["lateral_max_m"] < 0.8
    assert figures["localization_error"]["rms_m"] < 0.5
    assert figures["oracles"] == [], "the camera alone, unless oracles are asked for"
    assert len(truths(tmp_path / "recording.mcap")) == figures["steps"]
    commands = [json.loads(data) for data in messages(tmp_path / "recording.mcap", "/control")]
    assert len(commands) == figures["steps"]
    assert all(command["lights"]["brake"] == (command["brake"] >= 0.01) for command in commands)
    turning = [command["steer"] for command in commands if command["lights"]["left_indicator"]]
    assert max(turning) > 0.1, "the corner is to the left"
    assert not any(command["lights"]["low_beam"] or command["lights"]["hazard"] for command in commands)
    assert sum(spent["time_s"] for spent in figures["constraints"].values()) == pytest.approx(figures["time_s"])
    with av.open(str(tmp_path / "drive.mp4")) as video:
        assert abs(sum(1 for _ in video.decode(video=0)) - figures["steps"] / 2) <= 1
    assert json.loads((tmp_path / "result.json").read_text())["steps"] == figures["steps"]


def test_the_same_seed_gives_the_same_drive(tmp_path: Path) -> None:
    """To the bit, all road users and lights included, each drive on a server of its own."""
    scenario = load_scenario("town_drive").model_copy(update={"timeout_s": 6.0})
    for name in ("first", "second"):
        run(scenario, Options(out=tmp_path / name))
    first, second = (truths(tmp_path / name / "recording.mcap") for name in ("first", "second"))
    assert len(first) > 100
    assert first == second
