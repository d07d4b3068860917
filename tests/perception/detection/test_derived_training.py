"""Training of networks that were pruned, or that compute in eight bits, through the detector's training."""

from __future__ import annotations

import csv
import json
import math
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from av_core.errors import ConfigError
from perception.detection.networks import OpenVinoNetwork, TorchNetwork
from perception.detection.offline import ultralytics
from perception.detection.train import TrainingSpec, train
from perception.detection.weights import COMPACT, COMPACT_SIZE_PX, exported

ultralytics()

from ultralytics.models.yolo.detect import DetectionTrainer  # noqa: E402

from perception.detection.resident import ResidentLoader  # noqa: E402
from perception.networks.detector_pruning import PruningSpec, prune_detector  # noqa: E402
from perception.networks.detector_quantization import QuantizationSpec, own_ranges, quantize_detector  # noqa: E402
from perception.networks.detectors import folded_detector  # noqa: E402
from perception.networks.sparsity import is_two_of_four  # noqa: E402
from tests.perception.detection.test_resnet_detector import write_data_set  # noqa: E402


class StoppedError(Exception):
    pass


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("derived") / "data"
    write_data_set(folder)
    return folder


def pictures_of(data: Path) -> list[Path]:
    return sorted((data / "images" / "train").glob("*.jpg"))


def model_of(path: Path) -> Any:
    return torch.load(path, map_location="cpu", weights_only=False)["model"].float()


def test_a_pruned_and_sparse_network_is_trained_as_it_is(data: Path, tmp_path: Path) -> None:
    small, start = tmp_path / "small" / COMPACT.name, tmp_path / "sparse" / COMPACT.name
    fewer = prune_detector(COMPACT, pictures_of(data), PruningSpec("channels", 0.6, "scale", 2), small.parent)
    sparse = prune_detector(small, pictures_of(data), PruningSpec("2:4", criterion="inputs", pictures=2), start.parent)
    assert json.loads((small.parent / "pruning.json").read_text()) == json.loads(json.dumps(fewer))
    best = train(TrainingSpec(
        data, tmp_path / "out", epochs=1, batch=2, image_px=96, epoch_pictures=2, start=start, teacher=COMPACT,
        both_heads=True, hold_zeros=True,
    ))  # fmt: skip
    before, after = model_of(start).state_dict(), model_of(best).state_dict()
    assert {name: value.shape for name, value in after.items()} == {name: one.shape for name, one in before.items()}
    assert any(not torch.equal(after[name], before[name]) for name in after if name.endswith("conv.weight"))
    assert sparse["after"]["not_zero"] < 0.65 * sparse["before"]["weights"]
    assert set(sparse["zeros"].values()) == {0.5}
    assert all(is_two_of_four(after[f"{name}.weight"]) for name in sparse["zeros"])
    assert fewer["after"]["cost"] <= 0.6 * fewer["before"]["cost"]
    changed = [name for name, (old, new) in fewer["widths"].items() if new < old]
    assert changed
    assert all(len(after[f"{name}.weight"]) == fewer["widths"][name][1] for name in changed)
    rows, _ = folded_detector(best)(torch.rand(1, 3, 64, 96))
    assert rows.shape[2] == 6


def test_quantization_aware_training_is_resumed_and_its_network_deployed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    spec = TrainingSpec(
        data, out, epochs=2, batch=2, image_px=96, epoch_pictures=2, optimizer="AdamW", rate=1e-4, start=COMPACT,
        teacher=COMPACT, both_heads=True, quantize_aware=True,
    )  # fmt: skip
    whole, drawn = ResidentLoader.batch, 0

    def stopping(loader: ResidentLoader) -> dict[str, Any]:
        nonlocal drawn
        drawn += 1
        if drawn == 2:
            raise StoppedError
        return whole(loader)

    monkeypatch.setattr(ResidentLoader, "batch", stopping)
    with pytest.raises(StoppedError):
        train(spec)
    ranges = own_ranges(_ema(out))
    monkeypatch.setattr(ResidentLoader, "batch", whole)
    best = train(spec)
    with pytest.raises(ConfigError, match="`av-stack quantize` writes their network"):
        exported(best, COMPACT_SIZE_PX, tmp_path / "cache")
    with pytest.raises(ConfigError, match="only a CPU runs"):
        TorchNetwork(best, COMPACT_SIZE_PX, "cuda")
    trained = folded_detector(best)
    assert own_ranges(trained) == ranges, "a resumed run goes on with its ranges"
    assert len(ranges) > 60
    record = quantize_detector(best, pictures_of(data), QuantizationSpec("max", pictures=1), tmp_path / "deployed")
    assert record["trained"]
    assert set(record["ranges"]) == set(ranges)
    assert record["ranges"]["model.1.conv"] == pytest.approx([ranges["model.1.conv"].low, ranges["model.1.conv"].high])
    rgb = np.random.default_rng(0).integers(0, 255, (COMPACT_SIZE_PX[1], COMPACT_SIZE_PX[0], 3), np.uint8)
    rgb = np.asarray(cv2.GaussianBlur(rgb, (9, 9), 0), np.uint8)
    network = OpenVinoNetwork(exported(tmp_path / "deployed" / best.name, COMPACT_SIZE_PX, tmp_path / "cache"), 1)
    found = network.start(np.ascontiguousarray(rgb[:, :, ::-1]))()
    with torch.no_grad():
        wanted = trained(torch.from_numpy(rgb).permute(2, 0, 1)[None].float() / 255.0)[0][0].numpy()
    np.testing.assert_allclose(found[:5, 4], wanted[:5, 4], rtol=0.2, atol=0.01)


def test_hours_and_the_rate_leave_out_what_the_first_step_sets_up(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, passed, whole = time.time, 0.0, DetectionTrainer.preprocess_batch

    def slow(trainer: Any, batch: dict[str, Any]) -> Any:
        nonlocal passed
        passed += 1e6 if passed else 9e6  # s, so many that the seconds of this machine do not matter
        return whole(trainer, batch)

    monkeypatch.setattr(DetectionTrainer, "preprocess_batch", slow)
    monkeypatch.setattr(time, "time", lambda: now() + passed)
    spec = TrainingSpec(
        data, tmp_path, hours=4.2e6 / 3600.0, batch=2, image_px=64, epoch_pictures=4, optimizer="AdamW", start=COMPACT
    )
    train(spec)
    with open(tmp_path / "run" / "results.csv", newline="") as file:
        rates = [float(row["lr/pg0"]) for row in csv.DictReader(file)]
    assert len(rates) == 3, "the first has 1e6 s after its first step, the others 2e6 s each"
    assert rates[1] == pytest.approx(spec.rate * (0.505 + 0.495 * math.cos(math.pi / 5.0))), "5 epochs were expected"


def _ema(out: Path) -> Any:
    return torch.load(out / "run" / "weights" / "last.pt", map_location="cpu", weights_only=False)["ema"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["train", "detector", "DATA", "--quantize-aware"], "--quantize-aware needs --start"),
        (["train", "detector", "DATA", "--hold-zeros"], "--hold-zeros needs --start"),
        (["train", "detector", "DATA", "--both-heads"], "--both-heads needs --teacher"),
        (["prune", "detector", "none.pt", "DATA"], "WEIGHTS none.pt: no such file"),
        (["prune", "detector", str(COMPACT), "none"], "none: no picture in images/train"),
        (["prune", "detector", str(COMPACT), "DATA", "--pattern", "2:3"], "--pattern"),
        (["prune", "detector", str(COMPACT), "DATA", "--pattern", "2:4", "--criterion", "taylor"], "--criterion"),
        (["prune", "detector", str(COMPACT), "DATA", "--out", str(COMPACT.parent)], "is the folder of WEIGHTS"),
        (["prune", "detector", str(COMPACT), "DATA", "--share", "0.01", "--criterion", "scale"], "cannot be reached"),
    ],
)  # fmt: skip
def test_bad_options_are_named(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    from av_stack.cli.main import app

    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=said):
        app([str(data) if option == "DATA" else option for option in options], standalone_mode=False)
