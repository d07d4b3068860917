"""The tables of docs/networks are those of the files that the measurements wrote."""

from __future__ import annotations

import json

import pytest

from benchmarks.markdown_tables import marks
from benchmarks.networks.tables import DOCS, TABLES, filled


@pytest.mark.parametrize("page", TABLES)
def test_a_page_has_the_figures_of_its_files(page: str) -> None:
    text = (DOCS / page).read_text()
    assert any(marks(name)[0] in text for name in TABLES[page])
    assert filled(page, text) == text, "run `python -m benchmarks.networks.tables`"


def test_the_resnet_page_says_what_was_measured() -> None:
    page = " ".join((DOCS / "resnet-detector.md").read_text().split())
    compared, on_carla, training = (
        json.loads((DOCS / name).read_text())
        for name in ("detectors.json", "resnet_unreal.json", "resnet_training.json")
    )
    own = {name: one["figures"]["mAP50-95, all presets"][0] for name, one in compared["weights"].items()}
    assert own["resnet.pt"] >= 0.55
    assert f"**{own['resnet.pt']:.3f} mAP50-95**" in page
    assert f"YOLO26n has {own['detector_n.pt']:.3f}" in page
    n, resnet = on_carla["weights/detector_n"], on_carla["weights/resnet"]
    assert f"it finds {resnet['heads found']} of {resnet['heads']} signal heads" in page
    assert f"YOLO26n finds {n['heads found']}" in page
    took, step = training["seconds with start and end"], training["ms of a step, median"]
    assert f"took {took:,.0f} s of one H200" in page
    assert f"{training['steps']:,} steps of {training['batch']} pictures" in page
    assert f"a step takes {step:.0f} ms" in page
    for drive in (training["drive"], training["drive on a GPU"]):
        assert (drive["end"], drive["route_completion"], drive["infractions"]) == ("arrived", 1.0, 0)
        assert f"100 % of {drive['route_length_m']:,.0f} m" in page
        assert f"{drive['smallest time to collision, s']:.1f} s" in page
