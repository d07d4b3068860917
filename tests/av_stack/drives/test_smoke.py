"""Ten seconds of driving; and what the recording says about its own JSON topics."""

from __future__ import annotations

import json
import math
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from mcap.reader import make_reader

from av_stack.recording.exact.reader import DriveReader
from av_stack.recording.exact.topics import FRAME, SETUP, STEP, TRUTH
from av_stack.recording.schemas import MAP, TOPICS, model_of
from av_stack.run import Options, run
from av_stack.world.spec import Address
from scenarios.model import TrafficTable, load_scenario


def test_ten_seconds_of_driving(city_server: Address, tmp_path: Path) -> None:
    changes = {"timeout_s": 10.0, "traffic": TrafficTable(vehicles=2), "walkers": ()}
    scenario = load_scenario("town_drive").model_copy(update=changes)
    figures = run(scenario, Options(address=city_server, out=tmp_path)).figures
    assert figures["end"].startswith("time-out")
    assert figures["collisions"] == figures["red_lights"] == 0
    assert figures["driven_m"] > 40.0
    check_json_topics(tmp_path / "recording.mcap", figures["steps"])
    check_replay(tmp_path / "recording.mcap", figures["steps"])
    check_map(tmp_path / "recording.mcap", figures["route_length_m"])


def check_json_topics(path: Path, steps: int) -> None:
    """Every JSON topic names its schema, and every message fits it."""
    counts = dict.fromkeys(TOPICS, 0)
    with path.open("rb") as file:
        for schema, channel, message in make_reader(file).iter_messages(topics=list(TOPICS)):
            assert schema is not None
            assert (schema.name, schema.encoding) == (TOPICS[channel.topic][0], "jsonschema")
            properties = json.loads(schema.data)["properties"]
            assert set(json.loads(message.data)) == set(properties)
            model_of(channel.topic).model_validate_json(message.data)
            counts[channel.topic] += 1
    assert counts == dict.fromkeys(TOPICS, steps)


def check_replay(path: Path, steps: int) -> None:
    """By default all that a replay needs is there but the lossless pictures."""
    with closing(DriveReader(path)) as reader:
        assert not reader.has_pictures
        assert reader.verdict["dropped_steps"] == 0
        assert sum(not tick.frame.cameras for tick in reader.ticks()) == steps
        assert reader.problem is None
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    topics = {channel.topic for channel in summary.channels.values()}
    assert {SETUP, FRAME, STEP, TRUTH} == {topic for topic in topics if topic.startswith("/replay/")}


def check_map(path: Path, route_length_m: float) -> None:
    """The map is there once; its route has the drive's length, and each lane's edges are a lane's width apart."""
    with path.open("rb") as file:
        (content,) = (message.data for _, _, message in make_reader(file).iter_messages(topics=[MAP]))
    model_of(MAP).model_validate_json(content)
    roads = json.loads(content)
    steps = (math.dist(a, b) for a, b in pairwise(roads["route"]))
    assert sum(steps) == pytest.approx(route_length_m, rel=0.01)
    widths = [math.dist(left[0], right[0]) for _, left, right in roads["lanes"]]
    assert 2.5 < min(widths) <= max(widths) < 5.0
    assert roads["stop_lines"]
