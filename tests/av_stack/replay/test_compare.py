"""What counts as a difference between two results, and how a drive's are summed up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.errors import ConfigError
from av_core.types import (
    ControlCommand,
    EgoState,
    LaneEstimate,
    LightState,
    ObjectKind,
    Plan,
    Prediction,
    Scene,
    Stamp,
    StepResult,
    TrackedObject,
    TrafficLightView,
    Trajectory,
)
from av_stack.replay.compare import Comparison, Rules, differences
from av_stack.replay.fields import check_fields, field_names

STAMP = Stamp(4, 0.2)
CAR = TrackedObject(1, ObjectKind.CAR, 10.0, 2.0, 0.0, (5.0, 0.0), 4.5, 1.8, 1.5)


def result() -> StepResult:
    x = np.arange(5.0)
    still = np.zeros(5)
    ego = EgoState(STAMP, 1.0, 2.0, 0.1, 5.0, 0.0, 0.0, np.eye(4))
    scene = Scene(STAMP, ego, LaneEstimate(STAMP, None, None), (CAR,), {"7": TrafficLightView("7", LightState.RED)})
    trajectory = Trajectory.through((x, still, still), still, x, still, x)
    plan = Plan(STAMP, trajectory, None)
    return StepResult(STAMP, scene, Prediction(STAMP, np.zeros(1), ()), plan, ControlCommand(0.1, 0.0, 0.0), {"a": 1.0})


def with_ego(**changes: object) -> StepResult:
    there = result()
    return replace(there, scene=replace(there.scene, ego=replace(there.scene.ego, **changes)))  # type: ignore[arg-type]


def with_objects(*objects: TrackedObject) -> StepResult:
    there = result()
    return replace(there, scene=replace(there.scene, objects=objects))


def test_equal_results_have_no_difference_whatever_time_the_stages_took() -> None:
    assert not list(differences(result(), replace(result(), stage_ms={"a": 2.0})))


def test_a_number_that_is_not_one_equals_itself() -> None:
    assert not list(differences(with_ego(z_m=float("nan")), with_ego(z_m=float("nan"))))
    (found,) = differences(with_ego(z_m=float("nan")), with_ego(z_m=1.0))
    assert (found.field, found.size) == ("scene.ego.z_m", None)


def test_the_text_does_not_depend_on_how_numpy_prints() -> None:
    """Importing ultralytics changes numpy's print options for the whole process."""
    with np.printoptions(linewidth=320, formatter={"float_kind": "{:11.5g}".format}):
        (found,) = differences(result(), with_objects(replace(CAR, covariance=np.eye(4))))
    assert found.now.startswith("array([[1., 0.,")


@pytest.mark.parametrize(
    ("now", "field", "there", "told", "size"),
    [
        (with_ego(x_m=1.5), "scene.ego.x_m", "1.0", "1.5", 0.5),
        (with_ego(covariance=np.eye(4) * [1, 1, 3, 1]), "scene.ego.covariance", "[2, 2] 1.0", "[2, 2] 3.0", 2.0),
        (with_ego(covariance=np.eye(3)), "scene.ego.covariance", "float64 (4, 4)", "float64 (3, 3)", None),
        (with_objects(), "scene.objects", "1 items", "0 items", None),
        (with_objects(replace(CAR, kind=ObjectKind.BUS)), "scene.objects.kind", "'car'", "'bus'", None),
        (with_objects(replace(CAR, velocity_mps=(5.0, 1.0))), "scene.objects.velocity_mps", "0.0", "1.0", 1.0),
        (with_objects(replace(CAR, covariance=np.eye(4))), "scene.objects.covariance", "None", "array([[1., 0.,", None),
    ],
)
def test_each_difference_is_named(now: StepResult, field: str, there: str, told: str, size: float | None) -> None:
    (found,) = differences(result(), now)
    assert (found.field, found.there, found.size) == (field, there, size)
    assert found.now.startswith(told)


def test_lights_are_compared_by_their_signal() -> None:
    there, now = result(), result()
    now.scene.lights["8"] = TrafficLightView("8", LightState.GREEN)  # type: ignore[index]
    now.scene.lights["7"] = TrafficLightView("7", LightState.GREEN)  # type: ignore[index]
    found = {one.field: (one.there, one.now) for one in differences(there, now)}
    assert found == {"scene.lights": ("['7']", "['7', '8']"), "scene.lights.state": ("'red'", "'green'")}


def test_a_drive_is_summed_up_by_field() -> None:
    compared = Comparison(Rules())
    for number, x_m in enumerate((1.0, 1.2, 1.1)):
        stamp = Stamp(number, number * 0.05)
        compared.add(replace(result(), stamp=stamp), replace(with_ego(x_m=x_m), stamp=stamp))
    (found,) = compared.fields
    assert (compared.steps, compared.equal_steps, compared.is_equal) == (3, 1, False)
    assert (found.field, found.steps, found.first_at, found.first.now) == ("scene.ego.x_m", 2, Stamp(1, 0.05), "1.2")
    assert found.size_max == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("rules", "is_equal"),
    [
        (Rules(tolerances={"scene.ego.x_m": 0.5}), True),
        (Rules(tolerances={"scene": 0.5}), True),
        (Rules(tolerances={"scene": 0.5, "scene.ego": 0.1}), False),
        (Rules(tolerances={"scene.ego.y_m": 0.5}), False),
        (Rules(tolerances={"scene.eg": 0.5}), False),
        (Rules(ignored=["scene.ego"]), True),
        (Rules(ignored=["scene.objects"]), False),
        (Rules(only=["plan", "scene.objects"]), True),
        (Rules(only=["scene"]), False),
    ],
)
def test_rules_say_what_counts(rules: Rules, is_equal: bool) -> None:
    compared = Comparison(rules)
    compared.add(result(), with_ego(x_m=1.5))
    assert compared.is_equal == is_equal


def test_no_tolerance_hides_another_shape() -> None:
    compared = Comparison(Rules(tolerances={"scene": 100.0}))
    compared.add(result(), with_ego(covariance=np.eye(3)))
    assert not compared.is_equal


def test_fields_are_named_as_differences_name_them() -> None:
    assert {"scene.ego.covariance", "scene.objects.velocity_mps", "plan.trajectory.curve.x_m"} <= set(field_names())
    check_fields("--ignore", ["scene.objects", "prediction.objects.modes.x_m"])
    with pytest.raises(ConfigError, match=r"--ignore: no field 'scene.objets' \(did you mean scene.objects\?\)"):
        check_fields("--ignore", ["scene.objets"])
