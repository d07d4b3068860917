"""The ResNet detector: its network, what its training learns from a teacher, and a run that is stopped."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from torchvision.models.resnet import BasicBlock

from perception.detection.classes import CLASSES
from perception.detection.offline import ultralytics
from perception.detection.train import TrainingSpec, train
from perception.detection.weights import COMPACT

ultralytics()

from ultralytics.cfg import get_cfg  # noqa: E402
from ultralytics.nn.tasks import DetectionModel  # noqa: E402

from perception.detection.ignoring_loss import ignoring_loss  # noqa: E402
from perception.detection.resident import ResidentLoader  # noqa: E402
from perception.detection.resnet.distillation import DistillingLoss, load_teacher  # noqa: E402
from perception.detection.resnet.network import CONFIGURATION, WIDTHS, fuse_backbone  # noqa: E402

BOX = (40.0, 20.0, 80.0, 60.0)


def network(classes: int = len(CLASSES)) -> Any:
    torch.manual_seed(0)
    model = DetectionModel(str(CONFIGURATION), nc=classes, verbose=False)
    model.args = get_cfg()
    return model


def test_the_network_is_a_narrow_resnet_under_a_one_to_one_head() -> None:
    model = network().eval()
    assert model.stride.tolist() == [8.0, 16.0, 32.0]
    stages = model.model[0](torch.rand(1, 3, 64, 96))[5:]
    assert [tuple(stage.shape[1:]) for stage in stages] == [(width, 16 >> k, 24 >> k) for k, width in enumerate(WIDTHS)]
    assert sum(isinstance(module, BasicBlock) for module in model.modules()) == 8
    model.end2end = True
    assert model.model[-1].end2end
    assert model(torch.rand(1, 3, 64, 96))[0].shape[2] == 6
    size = sum(p.numel() * (1 if p.ndim > 1 else 2) for p in model.parameters())
    assert size < 6e6, "in eight bits it is at most 6 MB"


def test_folding_batch_norm_changes_nothing() -> None:
    model = network().train()
    for _ in range(3):
        model(torch.rand(2, 3, 64, 96))
    model.eval()
    folded = copy.deepcopy(model)
    fuse_backbone(folded)
    assert not any(isinstance(m, torch.nn.BatchNorm2d) for m in folded.model[0].modules())
    x = torch.rand(2, 3, 64, 96)
    with torch.inference_mode():
        for found, wanted in zip(folded.model[0](x)[5:], model.model[0](x)[5:], strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


def batch(pictures: torch.Tensor) -> dict[str, torch.Tensor]:
    return {
        "img": pictures, "batch_idx": torch.zeros(1), "cls": torch.zeros(1, 1),
        "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.4]]), "ignored": torch.zeros(0, 5),
    }  # fmt: skip


def test_the_teacher_asks_for_nothing_that_the_network_gives_already() -> None:
    teacher = load_teacher(COMPACT, "cpu")
    student = load_teacher(COMPACT, "cpu")
    given = batch(torch.rand(2, 3, 64, 96))
    loss = DistillingLoss(ignoring_loss(student), teacher, 2.0)
    parts, items = loss(student(given["img"]), given)
    assert float(parts[3]) == pytest.approx(0.0, abs=1e-4)
    torch.testing.assert_close(parts[:3], ignoring_loss(student)(student(given["img"]), given)[0])
    assert set(items) > {"teacher"}


def test_steps_towards_the_teacher_lower_its_part_of_the_loss() -> None:
    model = network().train()
    given = batch(torch.rand(2, 3, 64, 96))
    loss = DistillingLoss(ignoring_loss(model), load_teacher(COMPACT, "cpu"), 2.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    parts = []
    for _ in range(8):
        total, items = loss(model(given["img"]), given)
        optimizer.zero_grad()
        total[3].backward()
        optimizer.step()
        parts.append(float(items["teacher"]))
    assert parts[-1] < 0.9 * parts[0]


def test_a_checkpoint_holds_no_teacher_but_the_schedule() -> None:
    model = network(3)
    loss = DistillingLoss(ignoring_loss(model), load_teacher(COMPACT, "cpu"), 2.0)
    loss.update()
    kept = pickle.dumps(loss)
    assert len(kept) < 1e5
    assert pickle.loads(kept).updates == 1


class StoppedError(Exception):
    pass


def write_data_set(root: Path) -> None:
    for kind in ("images", "objects", "episodes", "labels"):
        (root / kind / "train").mkdir(parents=True)
    picture = np.full((96, 160, 3), 20, np.uint8)
    picture[20:60, 40:80] = 235
    for number in range(4):
        cv2.imwrite(str(root / "images" / "train" / f"town_{number:05d}.jpg"), picture)
        row = {"class": "car", "box_px": BOX, "visible": 1.0}
        (root / "objects" / "train" / f"town_{number:05d}.jsonl").write_text(json.dumps(row) + "\n")
        (root / "labels" / "train" / f"town_{number:05d}.txt").write_text("0 0.375 0.4167 0.25 0.4167\n")
    (root / "episodes" / "train" / "town.json").write_text("{}")
    names = "".join(f"  {k}: {name}\n" for k, name in enumerate(CLASSES))
    (root / "dataset.yaml").write_text(f"path: {root}\ntrain: images/train\nval: images/train\nnames:\n{names}")


def test_a_stopped_training_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    write_data_set(data)
    spec = TrainingSpec(data, out, "resnet", epochs=3, batch=2, image_px=160, epoch_pictures=4, teacher=COMPACT)
    drawn: list[int] = []
    whole = ResidentLoader.batch

    def stopping(loader: ResidentLoader) -> dict[str, Any]:
        drawn.append(len(drawn))
        if len(drawn) == 5:
            raise StoppedError
        return whole(loader)

    monkeypatch.setattr(ResidentLoader, "batch", stopping)
    with pytest.raises(StoppedError):
        train(spec)
    assert (out / "run" / "weights" / "last.pt").is_file()
    assert torch.load(out / "run" / "weights" / "last.pt", map_location="cpu", weights_only=False)["epoch"] == 1
    before = len(drawn)
    best = train(spec)
    assert len(drawn) == before + 2, "one epoch of two batches is left"
    model = ultralytics().YOLO(str(best)).model
    assert [model.names[k] for k in range(len(CLASSES))] == list(CLASSES)
    assert type(model.model[0]).__name__ == "TorchVision"
    rows = (out / "run" / "results.csv").read_text().splitlines()
    assert [line.split(",")[0].strip() for line in rows] == ["epoch", "1", "2", "3"]
