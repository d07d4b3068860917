"""The imitation network on a tiny set: it learns from the picture, a stopped run goes on, and its weights are small."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from av_core.constraint import Constraint, ConstraintKind
from av_core.errors import ConfigError
from perception.imitation.driver import ImitationDriver
from perception.imitation.groups import GROUPS, group_of
from perception.imitation.network import ImitationNetwork, NetworkShape, chosen_speed, speed_shares
from perception.imitation.samples import (
    CAMERA_PX,
    CAUSE_MOST_M,
    CAUSES,
    FAR_HEIGHT_PX,
    FAR_LEFT_PX,
    FAR_TOP_PX,
    FAR_WIDTH_PX,
    HEIGHT_PX,
    PATH_AHEAD_M,
    ROUTE_AHEAD_M,
    SPEEDS_MPS,
    WIDTH_PX,
    Float32,
    Samples,
    cause_of,
    decode,
    encode,
    join_samples,
    no_samples,
    parts_of,
    read_samples,
    write_samples,
)
from perception.imitation.train import Table, TrainingSpec, class_weights, schedule, train
from perception.imitation.weights import load_weights, save_weights

AHEAD = np.array(PATH_AHEAD_M, np.float32)
WEIGHTS_MAX_BYTES = 4_000_000


def path(bend_1pm: float) -> Float32:
    return np.stack([AHEAD, 0.5 * bend_1pm * AHEAD**2], axis=1)


def picture(bend_1pm: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A road whose bright side tells where the path bends: only the picture shows it."""
    width_px, height_px = CAMERA_PX
    bgr = rng.integers(60, 90, (height_px, width_px, 3)).astype(np.uint8)
    half = slice(0, width_px // 2) if bend_1pm > 0.0 else slice(width_px // 2, width_px)
    bgr[:, half] += 120
    return bgr


def made(count: int, seed: int) -> Samples:
    """Samples of which one half bends to the left and the other to the right, at any speed."""
    rng = np.random.default_rng(seed)
    bends = rng.permutation(np.tile([0.02, -0.02], count // 2))
    speed = rng.uniform(0.0, 12.0, count).astype(np.float32)
    whole, far = zip(*(parts_of(picture(bend, rng)) for bend in bends), strict=True)
    return Samples(
        [*map(encode, whole)],
        [*map(encode, far)],
        speed,
        np.tile(np.array([[s, 0.0] for s in ROUTE_AHEAD_M], np.float32), (count, 1, 1)),
        np.stack([path(bend) for bend in bends]),
        np.where(bends > 0.0, 0.0, 10.0).astype(np.float32),
        np.where(bends > 0.0, CAUSES.index("light"), 0).astype(np.uint8),
        np.where(bends > 0.0, 20.0, np.nan).astype(np.float32),
        np.zeros(count, np.uint8),
        np.arange(count, dtype=np.int32),
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drives")
    (folder / "drives").mkdir()
    for number, count in ((0, 24), (9, 8)):
        write_samples(folder / "drives" / f"{number:05d}.npz", made(count, number), {"map": "none"})
    return folder


def spec(data: Path, out: Path, epochs: int, *, is_blind: bool = False) -> TrainingSpec:
    return TrainingSpec((data,), out, is_blind, epochs=epochs, batch=12, rate=4e-3, width=4)


def curves(out: Path) -> list[dict[str, float]]:
    return list(json.loads((out / "training.json").read_text())["curves"])


def test_samples_come_back_as_they_were_written(data: Path) -> None:
    samples, facts = read_samples(data / "drives" / "00009.npz")
    before = made(8, 9)
    assert facts == {"map": "none"}
    assert (list(samples.jpeg), list(samples.far)) == (list(before.jpeg), list(before.far))
    assert np.array_equal(samples.path_m, before.path_m)
    assert np.array_equal(samples.cause_m, before.cause_m, equal_nan=True)
    assert decode(samples.jpeg[0]).shape == (HEIGHT_PX, WIDTH_PX, 3)
    assert decode(samples.far[0], FAR_HEIGHT_PX).shape == (FAR_HEIGHT_PX, FAR_WIDTH_PX, 3)
    joined = join_samples([samples, no_samples(), before])
    assert (len(joined), len(joined.far), joined.frame.tolist()) == (16, 16, 2 * list(range(8)))
    assert len(join_samples([])) == 0
    with pytest.raises(OSError, match="256x144"):
        decode(encode(np.zeros((10, 10, 3), np.uint8)))


def test_a_small_lamp_keeps_its_size_and_colour_in_the_part_far_ahead() -> None:
    bgr = np.full((CAMERA_PX[1], CAMERA_PX[0], 3), 60, np.uint8)
    row, column = 140, 360
    bgr[row : row + 2, column : column + 2] = (20, 20, 240)
    whole, far = parts_of(bgr)
    assert (whole.shape, far.shape) == ((HEIGHT_PX, WIDTH_PX, 3), (FAR_HEIGHT_PX, FAR_WIDTH_PX, 3))
    seen = decode(encode(far), FAR_HEIGHT_PX)[row - FAR_TOP_PX :, column - FAR_LEFT_PX :][:2, :2].astype(float)
    assert (seen[..., 2] - seen[..., 1]).min() > 120.0, "red, after JPEG too"
    assert (whole[..., 2].astype(float) - whole[..., 1]).max() < 180.0, "a mixture with what is beside it"
    with pytest.raises(ValueError, match="640x360"):
        parts_of(whole)


def test_what_the_expert_slows_down_for_has_a_kind_and_a_distance() -> None:
    red = Constraint(ConstraintKind.YELLOW_LIGHT, "7", 12.0)
    assert cause_of(red) == (CAUSES.index("light"), 12.0)
    assert cause_of(Constraint(ConstraintKind.LEADER, "3", 8.0)) == (CAUSES.index("vehicle"), 8.0)
    assert cause_of(Constraint(ConstraintKind.STOP_SIGN, "3", 8.0)) == (CAUSES.index("other"), 8.0)
    for nothing in (None, replace(red, distance_m=CAUSE_MOST_M + 1.0), Constraint(ConstraintKind.SPEED_LIMIT)):
        cause, distance_m = cause_of(nothing)
        assert cause == 0
        assert np.isnan(distance_m)


def test_what_is_kept_is_what_did_best_on_the_drives_held_back(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([3.0, 1.0, 2.0])
    means: list[torch.Tensor] = []

    def judged(network: ImitationNetwork, table: Table, batch: int) -> dict[str, float]:
        means.append(network.path.bias.detach().clone())
        return {"score": next(scores)}

    monkeypatch.setattr("perception.imitation.train.measure", judged)
    weights = train(spec(data, tmp_path, 6, is_blind=True), lambda done, say: None)
    kept = load_weights(weights).path.bias.detach()
    assert torch.allclose(kept, means[1], atol=1e-3)
    assert not torch.allclose(kept, means[2], atol=1e-3)
    assert json.loads((tmp_path / "training.json").read_text())["kept_epoch"] == 4


def test_it_learns_from_the_picture_what_the_blind_baseline_cannot_know(data: Path, tmp_path: Path) -> None:
    told: list[float] = []
    weights = train(spec(data, tmp_path / "seeing", 16), lambda done, say: told.append(done))
    train(spec(data, tmp_path / "blind", 16, is_blind=True), lambda done, say: None)
    seeing, blind = curves(tmp_path / "seeing"), curves(tmp_path / "blind")
    assert told[-1] == 1.0
    assert len(seeing) == len(blind) == 16
    assert blind[-1]["path_error_m"] > 1.0, "half of the paths bend the other way"
    assert seeing[-1]["path_error_m"] < 0.6 * blind[-1]["path_error_m"]
    assert seeing[-1]["speed_error_mps"] < 0.6 * blind[-1]["speed_error_mps"]
    driver = ImitationDriver(weights)
    left = picture(0.02, np.random.default_rng(1))
    points, target_mps = driver.decide(left, 5.0, np.array([[s, 0.0] for s in ROUTE_AHEAD_M]))
    assert points.shape == (len(PATH_AHEAD_M), 2)
    assert points[-1, 1] > 1.0
    assert target_mps < 5.0
    with pytest.raises(ValueError, match="640x360"):
        driver.decide(left[:100], 5.0, np.zeros((len(ROUTE_AHEAD_M), 2)))


def test_a_stopped_run_goes_on_and_refuses_other_options(data: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(spec(data, whole, 2, is_blind=True), lambda done, say: None)

    def stop(done: float, say: str) -> None:
        if done >= 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(spec(data, parts, 2, is_blind=True), stop)
    assert len(curves(parts)) == 1
    train(spec(data, parts, 2, is_blind=True), lambda done, say: None)
    losses = [[(row["path_loss"], row["speed_loss"]) for row in curves(out)] for out in (whole, parts)]
    assert np.allclose(losses[0], losses[1], rtol=1e-5)
    with pytest.raises(ConfigError, match="other options"):
        train(replace(spec(data, parts, 2, is_blind=True), seed=1), lambda done, say: None)
    with pytest.raises(ConfigError, match="no recorded drive"):
        train(spec(tmp_path, parts, 2), lambda done, say: None)


def test_the_weights_of_the_default_network_are_small_and_drive_the_same(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = ImitationNetwork(NetworkShape()).eval()
    save_weights(network, tmp_path / "w.pt")
    assert (tmp_path / "w.pt").stat().st_size < WEIGHTS_MAX_BYTES
    again = load_weights(tmp_path / "w.pt")
    inputs = (
        torch.rand(2, 3, HEIGHT_PX, WIDTH_PX),
        torch.rand(2, 3, FAR_HEIGHT_PX, FAR_WIDTH_PX),
        torch.tensor([3.0, torch.nan]),
        torch.rand(2, len(ROUTE_AHEAD_M), 2) * 20.0,
    )
    with torch.inference_mode():
        (path_a, scores_a), (path_b, scores_b) = network(*inputs), again(*inputs)
    assert torch.isfinite(path_a).all()
    assert (path_a - path_b).abs().max() < 0.02
    assert (scores_a - scores_b).abs().max() < 0.02
    torch.save({"format": "another"}, tmp_path / "other.pt")
    with pytest.raises(ConfigError, match="not the weights of an imitation network"):
        load_weights(tmp_path / "other.pt")
    (tmp_path / "text.pt").write_text("text")
    with pytest.raises(ConfigError, match="not the weights of an imitation network"):
        load_weights(tmp_path / "text.pt")


def test_a_speed_is_shared_by_its_two_neighbours() -> None:
    speed = torch.tensor([0.0, 0.25, 3.0, 11.0, 35.0, 50.0])
    shares = speed_shares(speed)
    assert torch.allclose(shares.sum(dim=1), torch.ones(6))
    assert ((shares > 0.0).sum(dim=1) <= 2).all()
    assert torch.allclose(shares @ torch.tensor(SPEEDS_MPS), speed.clamp(max=35.0))
    likely = torch.full((2, len(SPEEDS_MPS)), -20.0)
    likely[0, 0], likely[1, 3], likely[1, 4] = 5.0, 5.0, 5.0
    assert chosen_speed(likely).tolist() == pytest.approx([0.0, 5.0])
    weights = class_weights(torch.tensor([5.0] * 30 + [0.0] * 3))
    assert weights[0] > weights[3]


def test_moments_are_told_apart() -> None:
    straight, turn = path(0.0), path(0.05)
    rows = [(0.0, 0.0, straight), (0.1, 4.0, straight), (9.0, 4.0, straight), (6.0, 6.0, turn), (9.0, 9.5, straight)]
    speed, target, paths = zip(*rows, strict=True)
    found = group_of(np.array(speed, np.float32), np.array(target, np.float32), np.stack(paths))
    assert [GROUPS[number] for number in found] == ["stand", "start", "brake", "turn", "cruise"]


def test_the_learning_rate_rises_and_falls() -> None:
    rates = [schedule(fraction) for fraction in np.linspace(0.0, 1.0, 101)]
    top = int(np.argmax(rates))
    assert 1 <= top <= 5
    assert rates[0] < 0.05
    assert rates[-1] < 0.01
    assert all(a >= b for a, b in zip(rates[top:], rates[top + 1 :], strict=False))
