"""An agent of the user's own: a class named as `package.module:Class`. docs/agents.md shows how to write one."""

from __future__ import annotations

import importlib
import math
import os
import sys
from dataclasses import dataclass
from typing import Any

from av_core.errors import AgentError
from av_core.types import ControlCommand, LaneGraph, Rig, SensorFrame, VehicleParameters
from av_stack.agents.base import AgentStep
from av_stack.agents.guard import SETUP_LIMIT_S, Guard
from planning import Route

LIMITS = {"throttle": (0.0, 1.0), "brake": (0.0, 1.0), "steer": (-1.0, 1.0)}
"""Smallest and largest value of each part of a command."""

TOLERANCE = 1e-6
"""Amount by which a value may be outside `LIMITS`, because of rounding."""


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """What an agent knows before its first step: the route, the vehicle, the map, and the sensors that it gets."""

    route: Route
    vehicle: VehicleParameters
    lane_graph: LaneGraph
    rig: Rig
    step_s: float
    seed: int


class CustomAgent:
    """Drives with an instance of the class `kind`, which is made and set up before the first step.

    `guard` makes all calls of the instance.
    """

    def __init__(self, name: str, kind: type[Any], setup: AgentSetup, guard: Guard) -> None:
        self._name, self._kind, self._setup, self._guard = name, kind, setup, guard
        self._driver: Any = None

    def step(self, frame: SensorFrame) -> AgentStep:
        if self._driver is None:
            driver = self._guard.call("its constructor", self._kind, limit_s=SETUP_LIMIT_S)
            self._guard.call("setup", driver.setup, self._setup, limit_s=SETUP_LIMIT_S)
            self._driver = driver
        return AgentStep(checked(self._name, self._guard.call("a step", self._driver.step, frame)))

    def close(self) -> None:
        if self._driver is not None and not self._guard.is_stuck and hasattr(self._driver, "close"):
            driver, self._driver = self._driver, None
            self._guard.call("close", driver.close)
        self._guard.close()


def load_class(name: str) -> type[Any]:
    """The class that `package.module:Class` names; modules are found as Python finds them, and in the working folder.

    Raises AgentError where there is no such class, or it has no `setup` and `step`.
    """
    module_name, _, class_name = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    guard = Guard(name, SETUP_LIMIT_S)
    try:
        module = guard.call(f"the import of {module_name}", importlib.import_module, module_name)
    finally:
        guard.close()
    kind = getattr(module, class_name, None)
    if not isinstance(kind, type):
        own = [value for value in vars(module).values() if getattr(value, "__module__", "") == module_name]
        names = [value.__name__ for value in own if isinstance(value, type)]
        raise AgentError(f"agent {name}: {module_name} has no class {class_name}; it has {', '.join(names) or 'none'}")
    for method in ("setup", "step"):
        if not callable(getattr(kind, method, None)):
            raise AgentError(f"agent {name}: the class has no method {method}; expected setup and step")
    return kind


def checked(name: str, command: Any) -> ControlCommand:
    """`command`, if it is valid. Raises AgentError for a wrong type, or a value that is NaN or out of range."""
    if not isinstance(command, ControlCommand):
        raise AgentError(f"agent {name}: a step returned {type(command).__name__}; expected a ControlCommand")
    for key, (low, high) in LIMITS.items():
        value = getattr(command, key)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not low - TOLERANCE <= number <= high + TOLERANCE:
            raise AgentError(f"agent {name}: a step returned {key} {value!r:.40}; expected {low:g} to {high:g}")
    return command
