"""Plans in a random world, step by step: the ego follows each plan exactly, and the others keep their velocity."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from av_core.types import EgoState, LaneEstimate, Scene, Stamp
from benchmarks.random_worlds.check import STEP_S, faults
from benchmarks.random_worlds.world import CAR, World
from planning import Planner, Predictor

STEPS = 12


@dataclass
class Outcome:
    """What happened in one world: `faults` are those of each step, in words. An `exception` ends it and is a fault."""

    faults: list[str] = field(default_factory=list)
    plans: int = 0
    rejected: int = 0
    manoeuvres: Counter[str] = field(default_factory=Counter)
    stands: bool = False
    exception: bool = False


def drive_world(world: World, steps: int = STEPS) -> Outcome:
    """Drive in `world` for some steps; a fault of a step begins with its number."""
    rng = np.random.default_rng(world.seed + 1)
    planner, predictor = Planner(world.graph, CAR), Predictor(world.graph)
    planner.set_route(world.route)
    outcome = Outcome()
    x, y, yaw = (float(value) for value in world.route.curve.pose_at(world.s_m, world.offset_m))
    state = (x, y, yaw + world.askew_rad, world.speed_mps, 0.0)
    for step in range(steps):
        time_s = step * STEP_S
        stamp = Stamp(step, time_s)
        x, y, yaw, speed, accel = state
        ego = EgoState(stamp, x, y, yaw, speed, accel, 0.0, np.eye(4) * 0.01)
        seen = tuple(other.at(time_s) for other in world.others if rng.random() >= other.missing)
        scene = Scene(stamp, ego, LaneEstimate(stamp, None, None), seen, world.lights)
        try:
            prediction = predictor.predict(scene)
            plan = planner.plan(scene, prediction)
        except Exception as error:  # noqa: BLE001 - any at all is what is looked for
            outcome.exception = True
            outcome.faults.append(f"step {step}: {type(error).__name__}: {error}")
            break
        outcome.plans += 1
        outcome.rejected += prediction.rejected
        outcome.manoeuvres[plan.manoeuvre.value] += 1
        outcome.faults += [f"step {step}: {fault}" for fault in faults(plan, prediction, world.route)]
        at = plan.trajectory.at(STEP_S)
        state = (at.x_m, at.y_m, at.yaw_rad, at.speed_mps, at.accel_mps2)
    outcome.stands = state[3] < 0.1
    return outcome
