"""Short drives: what is recorded of the expert, what of an imitation that it corrects, and how the imitation drives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from av_core.errors import ConfigError, WorldError
from av_core.types import Pose2D, SignalKind
from av_stack.cli.training.detector import WIDTH
from av_stack.imitation import drives
from av_stack.imitation.drives import LIGHT_AHEAD_M, DrivesSpec, record_drives
from av_stack.imitation.geometry import seen_from
from av_stack.imitation.recorder import LEFT_M, DriveOptions, record_drive
from av_stack.mission import mission_route
from av_stack.run import Options, run
from av_stack.server_process import embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from av_stack.world.spec import Address
from perception.imitation.network import ImitationNetwork, NetworkShape
from perception.imitation.samples import (
    FAR_HEIGHT_PX,
    HEIGHT_PX,
    ROUTE_AHEAD_M,
    SPEEDS_MPS,
    Samples,
    decode,
    write_samples,
)
from perception.imitation.shipped import SHIPPED
from perception.imitation.weights import save_weights
from planning import PlanningConfig
from scenarios.model import RouteTable, Scenario, TrafficTable, load_scenario
from tests.av_stack.cli.test_bad_input import av_stack, complaint

MOMENTS = 10


def alone(timeout_s: float) -> Scenario:
    changes = {"timeout_s": timeout_s, "walkers": (), "traffic": TrafficTable(vehicles=0)}
    return load_scenario("town_drive").model_copy(update=changes)


@pytest.fixture(scope="module")
def recorded(city_server: Address) -> tuple[Samples, dict[str, Any]]:
    return record_drive(city_server, alone(60.0), DriveOptions(moments=MOMENTS), [0, 0])


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny network that always drives straight on towards about 4 m/s."""
    path = tmp_path_factory.mktemp("weights") / "imitation.pt"
    network = ImitationNetwork(NetworkShape(width=4, far_width=2, cells=4, hidden=16)).eval()
    with torch.no_grad():
        for layer in (network.path, network.speed):
            layer.weight.zero_()
            layer.bias.zero_()
        network.speed.bias[SPEEDS_MPS.index(4.0)] = 20.0
    save_weights(network, path)
    return path


def test_the_recorded_path_leads_from_each_camera_back_to_the_experts(
    recorded: tuple[Samples, dict[str, Any]],
) -> None:
    samples, facts = recorded
    assert len(samples) == 3 * MOMENTS
    assert (facts["end"], facts["driven_by_expert"], facts["map"]) == ("enough pictures", 1.0, "city_grid")
    assert samples.view.tolist() == [0, 1, 2] * MOMENTS
    assert (np.diff(samples.frame[::3]) % 5 == 0).all(), "four moments a second"
    middle = samples.path_m[::3]
    assert np.abs(middle[:, 0, 1]).max() < 0.1, "the expert is on its own path"
    assert np.abs(middle[-3:, 0, 0]).max() < 0.2, "and its rear axle has come to where the route begins"
    for number, view in enumerate(facts["views"]):
        other = Pose2D(0.0, view["left_m"], view["turned_rad"])
        for mine, theirs in zip(samples.path_m[number::3], middle, strict=True):
            assert np.allclose(mine, seen_from(theirs.astype(float), other), atol=1e-4)
    left, right = (facts["views"][number]["left_m"] for number in (1, 2))
    assert LEFT_M[0] <= left <= LEFT_M[1]
    assert LEFT_M[0] <= -right <= LEFT_M[1]
    for kind, height_px in ((samples.jpeg, HEIGHT_PX), (samples.far, FAR_HEIGHT_PX)):
        pictures = [decode(jpeg, height_px).astype(float) for jpeg in kind[-3:]]
        assert all(np.abs(pictures[0] - other).mean() > 4.0 for other in pictures[1:])


def test_the_recorded_speeds_are_those_of_a_start(recorded: tuple[Samples, dict[str, Any]]) -> None:
    samples, _ = recorded
    speed, target = samples.speed_mps[::3], samples.target_mps[::3]
    assert speed[0] < 0.5
    assert target[0] > 1.0
    assert speed[-1] > 2.0
    assert speed[4] == pytest.approx(target[0], abs=1.0), "what it planned for 1 s later is about what it did"
    ahead = np.hypot(*np.moveaxis(samples.route_m[::3], 2, 0))
    assert np.abs(ahead - np.array(ROUTE_AHEAD_M)).max() < 3.0


def test_the_expert_corrects_an_imitation_that_drives(city_server: Address, weights: Path) -> None:
    options = DriveOptions(moments=14, shifted=0, weights=weights, expert_share=0.0)
    turning = alone(60.0).model_copy(update={"route": RouteTable(start=(90.0, -93.25), goal=(111.75, -147.5))})
    samples, facts = record_drive(city_server, turning, options, [0, 1])
    assert facts["driven_by_expert"] == 0.0
    assert facts["views"] == [{"left_m": 0.0, "turned_rad": 0.0}]
    assert samples.speed_mps.max() < 5.0
    assert samples.target_mps.max() > samples.speed_mps.max() + 1.0, "the expert would be faster"


def test_the_imitation_drives_a_scenario_with_the_shipped_weights(city_server: Address, tmp_path: Path) -> None:
    outcome = run(alone(3.0), Options(address=city_server, out=tmp_path, agent="imitation"))
    figures = outcome.figures
    assert (outcome.exit_status, figures["agent"], figures["rig"]) == (0, "imitation", "imitation")
    assert 2.0 < figures["driven_m"] < 12.0
    assert figures["lateral_rms_m"] < 0.5
    assert figures["infractions"]["collisions_vehicle"] == 0
    assert (tmp_path / "drive.mp4").exists()


def test_drives_are_recorded_once_and_each_on_its_own(
    monkeypatch: pytest.MonkeyPatch, recorded: tuple[Samples, dict[str, Any]], tmp_path: Path
) -> None:
    asked: list[tuple[str, int, int, tuple[int, ...]]] = []

    def instead(address: Address, scenario: Scenario, options: DriveOptions, seed: list[int]) -> Any:
        asked.append((scenario.weather, scenario.seed, scenario.traffic.vehicles, tuple(seed)))
        return recorded

    class NoServer:
        def __init__(self, arguments: list[str]) -> None:
            self.arguments = arguments

        def __enter__(self) -> Address:
            return Address("127.0.0.1", 1)

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(drives, "record_drive", instead)
    monkeypatch.setattr(drives, "ServerProcess", NoServer)
    spec = DrivesSpec(("city_grid",), 50, seed=3, legs=1, weathers=("ClearNoon", "WetNight"))
    told: list[int] = []
    summary = record_drives(spec, tmp_path, 1, lambda done, of: told.append(done))
    assert told == [30, 60]
    assert (summary["pictures"], summary["drives"]) == (60, 2)
    assert sum(summary["by_group"].values()) == 60
    assert [row[0] for row in asked] == ["ClearNoon", "WetNight"]
    assert asked[0][2] == 0, "some drives are alone"
    assert [row[3] for row in asked] == [(3, 0, 0), (3, 1, 0)]
    more = DrivesSpec(("city_grid",), 80, seed=3, legs=1, weathers=("ClearNoon", "WetNight"))
    record_drives(more, tmp_path, 1, lambda done, of: None)
    assert [row[3] for row in asked] == [(3, 0, 0), (3, 1, 0), (3, 2, 0)], "the first two are there"
    assert record_drives(spec, tmp_path, 1, lambda done, of: None)["drives"] == 2, "what is too much goes"
    with pytest.raises(ConfigError, match="other options"):
        record_drives(DrivesSpec(("city_grid",), 50, seed=4), tmp_path, 1, lambda done, of: None)
    asked.clear()
    summary = record_drives(DrivesSpec(("city_grid",), 50, legs=2), tmp_path / "two", 1, lambda done, of: None)
    assert (summary["pictures"], summary["drives"], summary["ends"]) == (60, 2, {"enough pictures": 2})
    assert [row[3] for row in asked] == [(0, 0, 0), (0, 0, 1)], "both on one server"
    assert sum(summary["by_cause"].values()) == sum(summary["by_weather"].values()) == 60


def test_every_other_drive_begins_before_a_traffic_light() -> None:
    spec = DrivesSpec(("city_grid",), 1)
    graph = read_lane_graph(embedded_map_files()["city_grid"])

    def light_m(leg: int) -> float:
        signals = mission_route(graph, spec.scenario(0, leg), PlanningConfig()).signals
        return min(one.stop_s_m for one in signals if one.kind is SignalKind.TRAFFIC_LIGHT)

    least_m, most_m = LIGHT_AHEAD_M
    assert least_m <= light_m(1) <= most_m
    assert spec.scenario(0, 1) == spec.scenario(0, 1)
    assert spec.scenario(0, 1) != spec.scenario(0, 0)


def test_a_lost_server_ends_the_recording_only_where_it_is_lost_again_and_again(
    monkeypatch: pytest.MonkeyPatch, recorded: tuple[Samples, dict[str, Any]], tmp_path: Path
) -> None:
    def make(spec: DrivesSpec, out: Path, number: int) -> int:
        if number in lost:
            raise WorldError("the server is lost")
        samples, facts = recorded
        facts = {"map": facts["map"], "legs": [facts | {"pictures": len(samples)}]}
        write_samples(out / "drives" / f"{number:05d}.npz", samples, facts)
        return len(recorded[0])

    monkeypatch.setattr(drives, "_make", make)
    lost = {1}
    summary = record_drives(DrivesSpec(("city_grid",), 50), tmp_path / "once", 1, lambda done, of: None)
    assert (summary["pictures"], summary["drives"]) == (60, 3)
    assert summary["ends"] == {"enough pictures": 2, "server lost": 1}
    lost = {0, 1, 2, 3}
    with pytest.raises(WorldError, match="lost"):
        record_drives(DrivesSpec(("city_grid",), 50), tmp_path / "always", 1, lambda done, of: None)


def test_what_the_commands_need_is_told_at_once(tmp_path: Path) -> None:
    out = str(tmp_path / "data")
    assert "--weights: only --agent imitation uses them" in complaint(
        av_stack("dataset", "drive", out, "--weights", "other.pt")
    )
    assert "--weights: only --agent imitation uses them" in complaint(
        av_stack("suite", "obstacles", "--agent", "idle", "--weights", str(SHIPPED))
    )
    assert "unknown name 'Town99'" in complaint(av_stack("dataset", "drive", out, "--map", "Town99"))
    assert "has a rig of its own" in complaint(av_stack("run", "town_drive", "--agent", "imitation", "--rig", "full"))
    assert "holds no drives.json" in complaint(av_stack("train", "imitation", str(tmp_path)))
    assert "--size: `train imitation` does not take it" in complaint(
        av_stack("train", "imitation", str(tmp_path), "--size", "s")
    )
    assert NetworkShape().width == WIDTH
