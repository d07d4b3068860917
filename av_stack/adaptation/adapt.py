"""Runs an adaptation: collects pictures, fine-tunes and measures. Each step's result is kept, so a run can resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from av_core.errors import ConfigError
from av_stack.adaptation.collect import Collector
from av_stack.adaptation.learn import SHARE, finetune_spec, tune
from av_stack.adaptation.plan import EPISODE, Plan, make_plan
from av_stack.adaptation.score import held_back_pictures, measure, shown_rows
from av_stack.dataset import claim, summarise, write_dataset
from av_stack.world.carla.capture.shots import CaptureSpec
from av_stack.world.carla.weather import named_weathers
from av_stack.world.spec import Address
from perception.detection.finetune import Step
from perception.detection.weights import COMPACT, LARGE

SIZES = {"n": COMPACT, "s": LARGE}
"""Shipped weights of each detector size."""

Tell = Callable[[str, float], None]
"""Progress callback: (the current activity, the fraction of it that is done)."""


@dataclass(frozen=True, slots=True)
class AdaptSpec:
    """Options of an adaptation.

    * `out`: folder for pictures, weights and report.
    * `pictures`: number of pictures to take on the server; a quarter of them is held back to measure on.
    * `hours`: longest time of the training, h.
    * `size`: detector to adapt, "n" or "s".
    * `hold_back`: name of the town to measure on; None chooses one.
    * `device`: "cpu" or "cuda".
    * `episode`: options that all episodes of pictures share.
    """

    out: Path
    pictures: int = 1200
    hours: float = 1.0
    size: str = "n"
    hold_back: str | None = None
    device: str = "cpu"
    episode: CaptureSpec = EPISODE


def adapt(address: Address, spec: AdaptSpec, tell: Tell) -> dict[str, Any]:
    """Adapt the shipped detector to the server at `address`; returns the report, also written to `report.json`.

    The new weights are `detector_n.pt` or `detector_s.pt` in `spec.out`. A run that was stopped resumes when it is
    called again with the same options. Raises WorldError if the server does not answer or stops, ConfigError if
    `spec.out` holds an adaptation with other options.
    """
    server, own = spec.out / "pictures", spec.out / "own_pictures"
    weights, start = spec.out / f"detector_{spec.size}.pt", SIZES[spec.size]
    collector = Collector(address)
    plan = make_plan(collector.towns(), named_weathers(), spec.pictures, spec.hold_back, spec.episode)
    _claim_folder(spec, plan)
    claim(server, [plan.learn, plan.held_back])
    collector.write([plan.learn, plan.held_back], server, _progress_of(tell, "taking pictures on the server"))
    write_dataset([plan.own], own, 1, _progress_of(tell, "rendering pictures that keep what is known"))
    marks = _train_once(spec, server, own, weights, tell)
    pictures = held_back_pictures(server)
    before = measure(start, pictures, spec.device, _progress_of(tell, "measuring the shipped detector"))
    after = measure(weights, pictures, spec.device, _progress_of(tell, "measuring the adapted detector"))
    report: dict[str, Any] = {
        "note": plan.note,
        "server": {
            "version": collector.server_version,
            "learnt_from": list(plan.learn.maps),
            "held_back": list(plan.held_back.maps),
        },
        "pictures": {
            "learnt_from": len(list((server / "images" / "train").glob("*.jpg"))),
            "held_back": len(pictures),
            "own": len(list((own / "images" / "train").glob("*.jpg"))),
            **summarise(server, [plan.learn, plan.held_back]),
        },
        "training": {"size": spec.size, "device": spec.device, "share_of_the_change": SHARE, **marks},
        "weights_sha256": {"before": _digest(start), "after": _digest(weights)},
        "shown": shown_rows(before, after),
        "figures": {"before": [asdict(figure) for figure in before], "after": [asdict(figure) for figure in after]},
    }
    (spec.out / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    return report


def _train_once(spec: AdaptSpec, server: Path, own: Path, weights: Path, tell: Tell) -> dict[str, Any]:
    """Train unless `weights` exists; returns the number of steps and the minutes that the training took."""
    about = spec.out / "training.json"
    if not (about.is_file() and weights.is_file()):
        last: list[Step] = []

        def note(step: Step) -> None:
            last[:] = [step]
            tell(f"training, step {step.number + 1}", step.share)

        pictures = len(list((server / "images" / "train").glob("*.jpg")))
        tune(
            SIZES[spec.size], server, own, weights, finetune_spec(pictures, spec.hours, spec.device), spec.device, note
        )
        tell("training", 1.0)
        marks = {"steps": last[-1].number + 1, "minutes": round(last[-1].took_s / 60.0, 1)} if last else {}
        about.write_text(json.dumps(marks) + "\n")
    told: dict[str, Any] = json.loads(about.read_text())
    return told


def _claim_folder(spec: AdaptSpec, plan: Plan) -> None:
    """Record the options in `spec.out`. Raises ConfigError if it holds an adaptation with other options."""
    spec.out.mkdir(parents=True, exist_ok=True)
    wanted = {
        "pictures": spec.pictures, "size": spec.size, "towns": list(plan.learn.maps),
        "held back": list(plan.held_back.maps),
    }  # fmt: skip
    made = spec.out / "options.json"
    if made.is_file() and json.loads(made.read_text()) != wanted:
        raise ConfigError(
            f"--out {spec.out} holds an adaptation with other options ({made}): name another folder, or delete it"
        )
    made.write_text(json.dumps(wanted, indent=1) + "\n")


def _progress_of(tell: Tell, what: str) -> Callable[[int, int], None]:
    return lambda done, of: tell(what, done / max(of, 1))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
