"""The messages of the JSON topics of one step, for the recording and the dashboard."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from av_core.types import LaneLine, Plan, SensorFrame, StepResult, TrackedObject, Truth
from av_stack.agents.base import AgentStep
from av_stack.results.constraint_text import describe
from av_stack.supervisor import late_stages
from scenarios.judging.judge import Progress

Message = dict[str, Any]

DECIMALS = 3
"""Decimals of the values of other road users in a message. The exact values are in the recording's /replay/truth."""


def step_messages(frame: SensorFrame, step: AgentStep, truth: Truth, progress: Progress) -> dict[str, Message]:
    """The messages by topic, as `schemas.TOPICS` describes them.

    For an agent other than the stack, the topics about estimates and plans are left out.
    """
    result = step.result
    messages = {"/sensors": _sensors(frame)}
    if result is not None:
        messages["/confidence"] = _confidence(result)
        messages["/supervision"] = _supervision(result)
        messages["/stage_ms"] = {"stage_ms": dict(result.stage_ms)}
    if step.applied is not None:
        limits = _limits(result.plan if result is not None else None, progress.progress_m)
        messages["/control"] = asdict(step.applied) | limits
    return {**messages, "/truth": _truth(truth), "/judge": asdict(progress)}


def _sensors(frame: SensorFrame) -> Message:
    imu = asdict(frame.imu) | {"wheel_speed_mps": frame.wheel_speed_mps, "frame": frame.stamp.frame}
    imu.pop("stamp")
    return imu


def _limits(plan: Plan | None, progress_m: float) -> Message:
    """The part of the topic /control about the plan; without a plan, only the ego's progress on its route."""
    if plan is None:
        nothing = {"constraint": "", "limited_by": "", "manoeuvre": "", "behaviour": "", "reason": ""}
        return {**nothing, "route_s_m": progress_m}
    limited_by = "" if plan.limited_by is None else plan.limited_by.kind.value
    return {
        "constraint": describe(plan.constraint),
        "limited_by": limited_by,
        "manoeuvre": plan.manoeuvre.value,
        "behaviour": "" if plan.decision is None else plan.decision.behaviour.value,
        "reason": "" if plan.decision is None else plan.decision.reason,
        "route_s_m": plan.route_s_m,
    }


def _confidence(step: StepResult) -> Message:
    """The lines' own confidence, and the largest standard deviation of the estimated position."""
    lanes, covariance = step.scene.lanes, step.scene.ego.covariance[:2, :2]
    variance = max(0.0, float(np.linalg.eigvalsh(covariance)[-1]))
    return {
        "left_line": _line_confidence(lanes.left),
        "right_line": _line_confidence(lanes.right),
        "position_sigma_m": variance**0.5,
    }


def _supervision(step: StepResult) -> Message:
    """The stack's `DriveState`, its reason, and the stages that were late, with their times in ms."""
    return {"state": step.state.value, "reason": step.reason, "late_stages": late_stages(step.stage_ms)}


def _line_confidence(line: LaneLine | None) -> float | None:
    return None if line is None else float(line.confidence)


def _truth(truth: Truth) -> Message:
    return {
        "frame": truth.stamp.frame,
        "x_m": truth.ego.x_m,
        "y_m": truth.ego.y_m,
        "z_m": truth.ego_z_m,
        "yaw_rad": truth.ego.yaw_rad,
        "speed_mps": truth.ego_speed_mps,
        "lights": {signal_id: state.value for signal_id, state in truth.lights.items()},
        "objects": [
            [thing.track_id, thing.kind.value, *(round(number, DECIMALS) for number in _motion(thing))]
            for thing in truth.objects
        ],
        "collisions": [[event.other_id, event.other, event.impulse_ns] for event in truth.collisions],
    }


def _motion(thing: TrackedObject) -> tuple[float, ...]:
    return (thing.x_m, thing.y_m, thing.yaw_rad, *thing.velocity_mps)
