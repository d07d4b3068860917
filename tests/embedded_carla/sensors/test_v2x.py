"""V2X: messages between real sensors, and the radio channel's formulas against published ones."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import carla
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_carla.sensors.v2x_channel import Channel, Link, Sight, path_loss_db, received_power_dbm
from embedded_carla.sensors.v2x_message import CAM, CUSTOM
from tests.embedded_carla.sensors.sensor_rig import Mounted, Rig, ahead

PLAIN = Channel(21.5, -99.0, 5.9e9, 10.0, 2.7, 1.0, 500.0, "urban", "geometric", 0.0)


def test_sizes_are_those_of_the_client_s_structs() -> None:
    assert (CAM.itemsize, CUSTOM.itemsize) == (464, 136)


def test_a_message_far_over_flat_ground_loses_as_in_free_space_on_average() -> None:
    losses = [path_loss_db(PLAIN, Link(d, (1.5, 1.5), Sight.CLEAR)) for d in np.linspace(20.0, 60.0, 400)]
    friis = [20 * math.log10(4 * math.pi * d * 5.9e9 / 299792458) for d in np.linspace(20.0, 60.0, 400)]
    assert abs(np.mean(np.subtract(losses, friis))) < 2.0
    assert max(np.abs(np.subtract(losses, friis))) > 0.2  # the ground's reflection is in it


def test_winner_s_loss_at_100_m() -> None:
    winner = replace(PLAIN, model="winner")
    assert path_loss_db(winner, Link(100.0, (2.0, 2.0), Sight.CLEAR)) == pytest.approx(86.2, abs=0.1)
    assert path_loss_db(winner, Link(100.0, (2.0, 2.0), Sight.BUILDING)) == pytest.approx(111.4, abs=0.1)
    highway = replace(winner, scenario="highway")
    assert path_loss_db(highway, Link(100.0, (2.0, 2.0), Sight.CLEAR)) == pytest.approx(87.8, abs=0.1)


@given(st.floats(5.0, 400.0), st.floats(5.0, 400.0))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_what_stands_between_costs_more_the_further(a: float, b: float) -> None:
    near, far = sorted((a, b))
    behind = [path_loss_db(PLAIN, Link(d, (1.5, 1.5), Sight.BUILDING)) for d in (near, far)]
    assert behind[0] <= behind[1] + 1e-9
    edge = Link(far, (1.5, 1.5), Sight.VEHICLE, [(far / 2, far / 2, 0.0)])
    friis = 20 * math.log10(4 * math.pi * far * 5.9e9 / 299792458)
    assert path_loss_db(PLAIN, edge) == pytest.approx(friis + 6.0, abs=0.1)  # an edge in the line of sight: 6 dB


def test_fading_spreads_as_told_and_weak_messages_are_lost() -> None:
    rng = np.random.default_rng(3)
    link = Link(50.0, (1.5, 1.5), Sight.CLEAR)
    powers = [received_power_dbm(replace(PLAIN, fading_db=None), 21.5, link, rng) for _ in range(2000)]
    assert np.std([p for p in powers if p is not None]) == pytest.approx(5.2, rel=0.06)
    deaf = replace(PLAIN, sensitivity_dbm=-20.0)
    assert received_power_dbm(deaf, 21.5, link, rng) is None


QUIET = {"use_etsi_fading": "false"}


def _drain(mounted: Mounted) -> list[Any]:  # of carla.CAMEvent, which the wheel's stubs lack
    found = []
    while not mounted.measured.empty():
        found.append(mounted.measured.get())
    return found


def test_awareness_messages_tell_the_sender_s_state(rig: Rig) -> None:
    start = rig.world.get_map().get_spawn_points()[40]
    sender = rig.spawn("vehicle.tesla.model3", ahead(start, 20.0))
    receiver = rig.spawn("vehicle.audi.tt", start)
    on_roof = carla.Transform(carla.Location(z=1.6))
    rig.mount("sensor.other.v2x", on_roof, sender, **QUIET)
    ear = rig.mount("sensor.other.v2x", on_roof, receiver, **QUIET)
    gnss = rig.mount("sensor.other.gnss", carla.Transform(), sender)
    for _ in range(10):
        rig.world.tick()
        fix = gnss.next()
    sender.set_target_velocity(start.get_forward_vector() * 8.0)
    sender.set_light_state(carla.VehicleLightState(carla.VehicleLightState.LowBeam))
    frames, speeds = {}, {}
    for _ in range(40):
        frame = rig.world.tick()
        frames[frame], speeds[frame] = gnss.next(), sender.get_velocity().length()
    heard = [event for event in _drain(ear) if event.frame in frames]
    assert 4 <= len(heard) <= 20  # at most each 0.1 s, at least each second
    for event in heard:
        told = event[0].get()
        body = told["Message"]["Message"]["CAM Parameters"]
        place = body["Basic Container"]["Reference Position"]
        fix = frames[event.frame]
        assert told["Message"]["Header"] == {
            "Protocol Version": 2, "Message ID": "CAM", "Station ID": sender.id,
        }  # fmt: skip
        assert body["Basic Container"]["Station Type"] == "Passenger Car"
        assert place["Latitude"] * 1e-7 == pytest.approx(fix.latitude, abs=1e-6)
        assert place["Longitude"] * 1e-7 == pytest.approx(fix.longitude, abs=1e-6)
        fast = body["High Frequency Container"]
        assert "Basic Vehicle" in fast["High Frequency Container Present"] or len(fast) > 1
        assert str(round(speeds[event.frame] * 100)) in str(fast)
        assert -75.0 < event[0].power < -20.0
    stamps = np.diff([event.timestamp for event in heard])
    assert stamps.min() >= 0.1 - 1e-3
    assert stamps.max() <= 1.0 + 1e-3


def test_texts_arrive_once_with_the_next_tick_and_stay_on_their_channel(rig: Rig) -> None:
    start = ahead(rig.world.get_map().get_spawn_points()[40], 0.0, up_m=2.0)
    mouth = rig.mount("sensor.other.v2x_custom", start, **QUIET)
    near = rig.mount("sensor.other.v2x_custom", ahead(start, 30.0), **QUIET)
    other = rig.mount("sensor.other.v2x_custom", ahead(start, 30.0), **QUIET, channel_id="b")
    far = rig.mount("sensor.other.v2x_custom", ahead(start, 30.0), **QUIET, filter_distance="20")
    rig.world.tick()
    mouth.actor.send("black ice ahead")
    mouth.actor.send("x" * 150)
    frame = rig.world.tick()
    rig.world.tick()
    event = near.next()
    assert event.frame == frame
    assert event.get_message_count() == 2
    assert event[0].get()["Message"]["Message"] == "black ice ahead"
    assert event[1].get()["Message"]["Message"] == "x" * 99  # 100 bytes with the zero at the end
    rig.world.tick()
    for silent in (near, other, far, mouth):
        assert silent.measured.empty()


def test_buildings_are_in_the_way(rig: Rig) -> None:
    wall = rig.world.get_environment_objects(carla.CityObjectLabel.Buildings)[0].bounding_box
    side = wall.extent.x + 5.0
    beside = carla.Transform(carla.Location(wall.location.x, wall.location.y, 3.0), wall.rotation)
    open_air = carla.Transform(carla.Location(wall.location.x, wall.location.y, 200.0), wall.rotation)
    powers = []
    for middle in (beside, open_air):
        mouth = rig.mount("sensor.other.v2x_custom", ahead(middle, -side), **QUIET, path_loss_model="geometric")
        ear = rig.mount("sensor.other.v2x_custom", ahead(middle, side), **QUIET, path_loss_model="geometric")
        rig.world.tick()
        mouth.actor.send("?")
        rig.world.tick()
        powers.append(ear.next()[0].power)
    distance = 2.0 * side
    log_distance = 31.5 - (20 * math.log10(4 * math.pi * 5.9e9 / 299792458) + 27.0 * math.log10(distance))
    assert powers[0] == pytest.approx(log_distance, abs=0.1)
    assert powers[1] > powers[0] + 3.0
