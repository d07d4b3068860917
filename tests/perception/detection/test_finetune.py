"""Fine-tuning on another renderer's pictures: what it learns, what it leaves alone, and the mixture of weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from perception.detection.classes import CLASSES
from perception.detection.finetune import HELD, FinetuneSpec, Step, averaged, finetune, keep_loss, load_weights
from perception.detection.foreign_batches import ForeignBatches, Pictures
from perception.detection.offline import ultralytics

WEIGHTS = Path(__file__).parents[3] / "perception" / "weights" / "detector_n.pt"


def noise(count: int, seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (count, 96, 160, 3), dtype=np.uint8))


def test_a_few_steps_change_the_weights_and_averaging_leads_back() -> None:
    ultralytics()
    start = load_weights(WEIGHTS, "cpu")
    before = {name: value.clone() for name, value in start.state_dict().items()}
    car = np.array([[CLASSES.index("car"), 40.0, 30.0, 110.0, 80.0]])
    foreign, own = Pictures(noise(2, 1), [car, np.zeros((0, 5))]), Pictures(noise(2, 2), [np.zeros((0, 5))] * 2)
    spec = FinetuneSpec(steps=2, foreign_batch=2, own_batch=2)
    told: list[Step] = []
    tuned = finetune(start, ForeignBatches(foreign), own, spec, told.append)
    assert [step.number for step in told] == [0, 1]
    assert str(told[0]).startswith("step 0: foreign ")
    assert all(torch.equal(value, before[name]) for name, value in start.state_dict().items())
    assert all(torch.isfinite(value).all() for value in tuned.values())
    changed = {name for name, value in tuned.items() if not torch.equal(value, before[name])}
    assert changed
    assert not any("running_" in name for name in changed), "batch norm keeps its statistics"
    half = averaged(before, tuned, 0.5)
    name = next(iter(changed))
    assert torch.allclose(half[name], (before[name] + tuned[name]) / 2)
    assert all(torch.equal(value, before[name]) for name, value in averaged(before, tuned, 0.0).items())


def test_a_stopped_run_ends_as_one_that_was_not_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ultralytics()
    start = load_weights(WEIGHTS, "cpu")
    car = np.array([[CLASSES.index("car"), 40.0, 30.0, 110.0, 80.0]])
    foreign, own = Pictures(noise(2, 1), [car, np.zeros((0, 5))]), Pictures(noise(2, 2), [np.zeros((0, 5))] * 2)
    spec = FinetuneSpec(steps=4, foreign_batch=2, own_batch=2)
    whole = finetune(start, ForeignBatches(foreign), own, spec, lambda step: None)

    def kill(step: Step) -> None:
        if step.number == 2:
            raise KeyboardInterrupt

    checkpoint = tmp_path / "checkpoint.pt"
    monkeypatch.setattr("perception.detection.finetune.CHECKPOINT_S", 0.0)
    with pytest.raises(KeyboardInterrupt):
        finetune(start, ForeignBatches(foreign), own, spec, kill, checkpoint)
    told: list[int] = []
    resumed = finetune(start, ForeignBatches(foreign), own, spec, lambda step: told.append(step.number), checkpoint)
    assert told == [2, 3], "the step that was killed is made again"
    assert all(torch.equal(value, whole[name]) for name, value in resumed.items())


def test_outputs_that_are_kept_cost_nothing() -> None:
    ultralytics()
    model = load_weights(WEIGHTS, "cpu").train()
    with torch.no_grad():
        outputs = model(noise(1, 3).permute(0, 3, 1, 2) / 255.0)
    other = {branch: {**some, "scores": some["scores"] + 1.0} for branch, some in outputs.items()}
    unchanged = float(keep_loss(outputs, outputs))
    assert unchanged < 0.005  # sums of float32
    assert float(keep_loss(other, outputs)) > 10.0 * unchanged


def test_holding_costs_only_what_other_classes_than_lights_change() -> None:
    ultralytics()
    model = load_weights(WEIGHTS, "cpu").train()
    with torch.no_grad():
        outputs = model(noise(1, 3).permute(0, 3, 1, 2) / 255.0)

    def raised(classes: list[int]) -> dict[str, dict[str, torch.Tensor]]:
        out = {branch: {**some, "scores": some["scores"].clone()} for branch, some in outputs.items()}
        for some in out.values():
            some["scores"][:, classes] += 1.0
        return out

    lights = [number for number in range(len(CLASSES)) if number not in HELD]
    assert [CLASSES[number].split()[0] for number in lights] == ["light"] * 4
    unchanged = float(keep_loss(outputs, outputs, HELD))
    assert float(keep_loss(raised(lights), outputs, HELD)) == pytest.approx(unchanged)
    assert float(keep_loss(raised(HELD), outputs, HELD)) > unchanged + 0.01


def test_holding_costs_more_once_the_outputs_have_changed() -> None:
    ultralytics()
    start = load_weights(WEIGHTS, "cpu")
    bus = np.array([[CLASSES.index("bus"), 40.0, 30.0, 110.0, 80.0]])
    foreign, own = Pictures(noise(2, 1), [bus, bus]), Pictures(noise(2, 2), [np.zeros((0, 5))] * 2)

    def losses(hold: float) -> list[float]:
        spec = FinetuneSpec(steps=2, rate=2e-2, foreign_batch=2, own_batch=2, hold=hold)
        told: list[Step] = []
        finetune(start, ForeignBatches(foreign), own, spec, told.append)
        return [step.foreign for step in told]

    (free, free_later), (held, held_later) = losses(0.0), losses(10.0)
    assert held == pytest.approx(free, abs=0.1), "the weights are still those at the start"
    assert held_later > free_later + 0.2


def test_learning_lights_only_drops_the_other_labels_and_ignores_their_classes() -> None:
    boxes = np.array(
        [
            [CLASSES.index("car"), 40.0, 30.0, 110.0, 80.0],
            [CLASSES.index("light red"), 10.0, 10.0, 20.0, 40.0],
        ]
    )
    foreign = Pictures(noise(1, 1), [boxes])
    batch = ForeignBatches(foreign, lights_only=True)(8, np.random.default_rng(1))
    assert len(batch["cls"])
    assert set(batch["cls"][:, 0].tolist()) == {float(CLASSES.index("light red"))}
    assert len(batch["cls"]) == len(batch["bboxes"]) == len(batch["batch_idx"])
    assert [CLASSES[i].split()[0] for i in (~batch["unlabelled"]).nonzero()[:, 0].tolist()] == ["light"] * 4
    plain = ForeignBatches(foreign)(8, np.random.default_rng(1))
    assert float(CLASSES.index("car")) in plain["cls"][:, 0].tolist()
