"""The fit of the light states' network, its calibration, and the looks that it is fitted on."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from av_core.types import Image, LightState
from av_stack.evaluation.lights import LabelledHead
from benchmarks.lamps.heads import Patch, own_heads, patches, shaken, town
from benchmarks.lamps.looks import background, vary
from benchmarks.lamps.measure import summary
from benchmarks.lamps.network import Samples, fit, temperature
from perception.lights.head_states import softmax
from tests.perception.lights.drawn_heads import drawn_head, head_box


def clusters(rng: np.random.Generator, count: int) -> Samples:
    """Four clusters of points, one a state."""
    y = rng.integers(4, size=count)
    centres = np.array([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, -2.0, 0.0]])
    x = centres[y] + 0.3 * rng.normal(size=(count, 3))
    return Samples(x, y, np.ones(count), np.full(count, "own x"))


def test_the_network_learns_clusters() -> None:
    rng = np.random.default_rng(0)
    model, unseen = fit(clusters(rng, 400), rng), clusters(rng, 400)
    assert (model.scores(unseen.x).argmax(axis=1) == unseen.y).mean() > 0.98


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_temperature_is_the_factor_by_which_scores_are_too_large(factor: float) -> None:
    rng = np.random.default_rng(1)
    scores = 2.0 * rng.normal(size=(20_000, 4))
    draws = rng.random((len(scores), 1)) > np.cumsum(softmax(scores), axis=1)
    assert temperature(factor * scores, draws.sum(axis=1)) == pytest.approx(factor, rel=0.05)


def patch(state: LightState) -> Patch:
    head = LabelledHead(Path("Town01_000001.jpg"), head_box(), state, "carla_unreal")
    return Patch(drawn_head("day", state), head_box(), head, 1.0)


@pytest.mark.parametrize("state", [LightState.RED, LightState.YELLOW, LightState.GREEN, LightState.OFF])
def test_looks_differ_and_their_boxes_hold_the_head(state: LightState) -> None:
    rng = np.random.default_rng(2)
    looks = [vary(patch(state), rng) for _ in range(20)]
    assert len({bgr.tobytes() for bgr, _ in looks}) == 20
    for bgr, (u0, v0, u1, v1) in looks:
        assert u0 < bgr.shape[1] / 2 < u1
        assert v0 < bgr.shape[0] / 2 < v1


def test_background_boxes_are_beside_the_head() -> None:
    rng = np.random.default_rng(3)
    u0, _, u1, _ = head_box()
    for _ in range(20):
        left, _, right, _ = background(patch(LightState.RED), rng)
        assert right <= u0 or left >= u1


def test_shaken_boxes_keep_the_middle_on_average() -> None:
    rng = np.random.default_rng(4)
    boxes = np.array([shaken(head_box(), rng) for _ in range(2000)])
    assert np.allclose(boxes.mean(axis=0), head_box(), atol=0.15)
    assert np.all(boxes.std(axis=0) > 0.5)


def test_patches_leave_out_heads_that_the_upper_edge_cuts(tmp_path: Path) -> None:
    picture = tmp_path / "Town01_000001.jpg"
    cv2.imwrite(str(picture), drawn_head("day", LightState.RED))
    whole = LabelledHead(picture, head_box(), LightState.RED, "own")
    cut = LabelledHead(picture, (30.0, 0.0, 50.0, 30.0), LightState.RED, "own")
    made = patches([whole, cut])
    assert [one.head for one in made] == [whole]
    saved = cv2.imread(str(picture))
    assert saved is not None
    assert np.array_equal(inside(made[0].bgr, made[0].box), inside(np.asarray(saved, np.uint8), head_box()))


def inside(bgr: Image, box: tuple[float, float, float, float]) -> Image:
    u0, v0, u1, v1 = (int(edge) for edge in box)
    return bgr[v0:v1, u0:u1]


def test_towns_of_both_sources() -> None:
    box = head_box()
    own = LabelledHead(Path("city_grid_1000_00012.jpg"), box, LightState.RED, "own")
    unreal = LabelledHead(Path("Town02_000540.jpg"), box, LightState.RED, "carla_unreal")
    assert (town(own), town(unreal)) == ("city_grid", "Town02")


def test_own_heads_come_from_a_data_sets_objects(tmp_path: Path) -> None:
    folder = tmp_path / "objects" / "train"
    folder.mkdir(parents=True)
    rows = (
        '{"class": "light red", "box_px": [1, 2, 9, 22], "counts": true}',
        '{"class": "light red", "box_px": [1, 2, 9, 22], "counts": false}',
        '{"class": "light green", "box_px": [1, 2, 4, 9], "counts": true}',
        '{"class": "car", "box_px": [1, 2, 40, 22], "counts": true}',
    )
    (folder / "Town01_1000_00001.jsonl").write_text("\n".join(rows))
    (head,) = own_heads(tmp_path)
    assert (head.state, head.box_px) == (LightState.RED, (1, 2, 9, 22))


def test_the_summary_counts_large_lit_heads_only() -> None:
    table = {
        "own, 16-32 px, red": {"red": 8, "yellow": 1, "green": 1},
        "own, 64- px, green": {"green": 5, "unknown": 5},
        "own, 9-16 px, red": {"green": 7},
        "own, 16-32 px, off": {"red": 3},
        "own, 16-32 px, red aside": {"green": 3},
    }
    found = summary(table)
    assert (found["heads"], found["right"], found["reds"]) == (20, 13, 10)
    assert (found["red_as_yellow"], found["red_as_green"], found["unread"]) == (1, 1, 5)
