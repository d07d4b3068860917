"""Vehicle control: turns a `Plan` into a `ControlCommand` (steering, throttle, brake, lights)."""

from control.config import ControlConfig
from control.controller import Controller

__all__ = ["ControlConfig", "Controller"]
