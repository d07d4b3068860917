"""A radar that is silent, blind or frozen is told at once, and slows the drive from the second tick on."""

from __future__ import annotations

import numpy as np
import pytest

from av_core.types import GnssFix, ImuSample, RadarSweep, SensorFrame, Stamp
from perception.health.monitor import Fault, Response
from perception.health.radar import RadarMonitor
from perception.stages.health import RigHealthMonitor
from tests.perception.radar_scene import DT_S, RADARS, Box, ego_at, sweeps

WALL = Box(0.0, 8.0, length_m=100.0, width_m=1.0)


def sweep_of(frame: int) -> RadarSweep:
    return sweeps(ego_at(frame), [WALL], np.random.default_rng(frame), radars=RADARS[:1])[0]


def test_good_sweeps_are_well() -> None:
    monitor = RadarMonitor()
    for frame in range(20):
        health = monitor.update(sweep_of(frame), frame * DT_S)
        assert not health.faults
        assert health.response is Response.DRIVE


@pytest.mark.parametrize(
    ("fault", "how"), [(Fault.MISSING, "no sweep"), (Fault.MISSING, "no points"), (Fault.FROZEN, "")]
)
def test_a_fault_is_told_and_slows_the_car(fault: Fault, how: str) -> None:
    monitor = RadarMonitor()
    for frame in range(5):
        monitor.update(sweep_of(frame), frame * DT_S)
    last = sweep_of(4)
    broken = {"no sweep": None, "no points": RadarSweep(last.stamp, last.radar, np.zeros((0, 4))), "": last}[how]
    first, second = (monitor.update(broken, frame * DT_S) for frame in (5, 6))
    assert first.faults == second.faults == (fault,)
    assert (first.response, second.response) == (Response.DRIVE, Response.SLOW)
    again = [monitor.update(sweep_of(frame), frame * DT_S) for frame in range(7, 20)]
    assert not any(health.faults for health in again)
    assert again[-1].confidence == 1.0


def test_a_rig_trusts_the_radars_that_are_well() -> None:
    monitor = RigHealthMonitor("front", radars=[radar.name for radar in RADARS])
    stamp = Stamp(3, 0.15)
    imu, fix = ImuSample(stamp, (0.0, 0.0, 9.8), (0.0, 0.0, 0.0), 0.0), GnssFix(stamp, 0.0, 0.0, 0.0)
    measured = {sweep.radar.name: sweep for sweep in sweeps(ego_at(3), [WALL], np.random.default_rng(0), radars=RADARS)}
    silent = "radar_rear_right"  # on the side where nothing stands, it would be empty too
    measured = {name: sweep for name, sweep in measured.items() if "left" in name}
    health = monitor.update(SensorFrame(stamp, {}, fix, imu, 0.0, radars=measured))
    assert health.trusted == set(measured)
    assert health.others[silent].faults == (Fault.MISSING,)
    assert set(health.others) == {radar.name for radar in RADARS}
