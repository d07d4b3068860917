"""Figures of several cameras together: what one of them sees is seen, and each thing counts once."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from av_core.types import Detection
from av_stack.evaluation.detection import CONFIDENCE
from av_stack.evaluation.rig_detection import rig_figures, seen_by_any
from av_stack.server_process import ServerProcess
from av_stack.world.carla.capture.shots import CaptureSpec, capture
from av_stack.world.carla.client import connect
from perception.detection.labels import Label
from perception.detection.measure import Sample
from perception.stages.lights import looks_ahead
from sim_configs.load import load_rig

RIG = tuple(filter(looks_ahead, load_rig("full").cameras))
WIDE = Label("car", (100.0, 100.0, 130.0, 120.0), 1.0, 60.0, number=4)
NARROW = replace(WIDE, box_px=(200.0, 100.0, 290.0, 160.0))


def fits(label: Label, name: str | None = None, confidence: float = 0.9) -> Detection:
    u0, v0, u1, v1 = label.box_px
    return Detection(name or label.name, (u0 - 0.5, v0 - 0.5, u1 - 0.5, v1 - 0.5), confidence)


def sample(labels: tuple[Label, ...] = (), *found: Detection) -> Sample:
    return Sample(labels, found, "ClearNoon")


def values(*moments: tuple[Sample, ...]) -> dict[tuple[str, str], tuple[float, int | None]]:
    return {(f.name, f.group): (f.value, f.count) for f in rig_figures(moments, RIG)}


def test_the_cameras_that_look_ahead_are_the_two_front_ones() -> None:
    assert [camera.name for camera in RIG] == ["front", "front_narrow"]


def test_a_thing_is_seen_where_one_of_the_cameras_sees_it_and_counts_once() -> None:
    both = (sample((WIDE,)), sample((NARROW,), fits(NARROW)))
    assert seen_by_any(both, ("car",)) == [(60.0, True)]
    assert seen_by_any(both[::-1], ("car",)) == [(60.0, True)]
    neither = (sample((WIDE,), fits(WIDE, confidence=CONFIDENCE - 0.01)), sample((NARROW,)))
    assert seen_by_any(neither, ("car",)) == [(60.0, False)]
    hidden = replace(NARROW, visible=0.1)
    assert seen_by_any((sample(), sample((hidden,), fits(hidden))), ("car",)) == []
    assert seen_by_any((sample((WIDE,)), sample((hidden,), fits(hidden))), ("car",)) == [(60.0, False)]
    got = values(both, neither)
    assert got["recall of vehicles at IoU 0.5, to 80 m", "ClearNoon"] == (0.5, 2)
    assert got["recall of vehicles at IoU 0.5, to 80 m", "all presets, front alone"] == (0.0, 2)


def test_what_is_beyond_reach_is_left_out() -> None:
    far = tuple(sample((replace(label, distance_m=81.0),)) for label in (WIDE, NARROW))
    assert values(far)["recall of vehicles at IoU 0.5, to 80 m", "all presets"][1] == 0
    people = tuple(sample((replace(label, name="pedestrian", distance_m=51.0),)) for label in (WIDE, NARROW))
    assert values(people)["recall of pedestrians at IoU 0.5, to 50 m", "all presets"][1] == 0


def test_a_light_is_read_where_it_is_largest() -> None:
    wide, narrow = replace(WIDE, name="light red"), replace(NARROW, name="light red")
    got = values((sample((wide,), fits(wide, "light off")), sample((narrow,), fits(narrow))))
    assert got["state of lights found", "to 60 m"] == (1.0, 1)
    assert got["state of lights found", "to 60 m, front"] == (0.0, 1)
    assert got["state of lights found", "to 60 m, front_narrow"] == (1.0, 1)
    small = replace(narrow, box_px=(200.0, 100.0, 204.0, 112.0))
    got = values((sample((wide,), fits(wide, "light off")), sample((small,), fits(small))))
    assert got["state of lights found", "to 60 m"] == (0.0, 1)
    far = replace(narrow, distance_m=61.0)
    assert values((sample(), sample((far,), fits(far))))["state of lights found", "to 60 m"][1] == 0


def test_a_rig_on_real_cars_tells_the_same_thing_by_the_same_number() -> None:
    small = tuple(replace(camera, width_px=camera.width_px // 4, height_px=camera.height_px // 4) for camera in RIG)
    spec = CaptureSpec("city_grid", 5, views=2, scenes=1, shots=1, vehicles=20, walkers=2, guests=6)
    with ServerProcess(["--map", "city_grid", "--seed", "5"]) as address:
        client = connect(address)
        shots = list(capture(client, spec, ("ClearNoon",), small))
    assert [shot.camera.name for shot in shots] == ["front", "front_narrow"] * 2
    shared = 0
    for wide, narrow in (shots[:2], shots[2:]):
        assert wide.bgr.shape == (180, 320, 3)
        assert narrow.bgr.shape == (90, 160, 3)
        things = {label.number: label for label in wide.labels}
        assert len(things) == len(wide.labels)
        for label in narrow.labels:
            if label.number in things:
                other = things[label.number]
                assert other.name == label.name
                assert other.distance_m == pytest.approx(label.distance_m, abs=0.3)
                shared += 1
                if label.visible > 0.9 and other.visible > 0.9 and other.box_px[3] - other.box_px[1] > 8:
                    enlarged = small[1].width_px / small[0].width_px / math.tan(math.radians(15.0))
                    ratio = (label.box_px[3] - label.box_px[1]) / (other.box_px[3] - other.box_px[1])
                    assert ratio == pytest.approx(enlarged, rel=0.25)
    assert shared > 0
