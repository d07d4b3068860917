"""From a `Plan` to a `ControlCommand`."""

from control.config import ControlConfig
from control.controller import Controller

__all__ = ["ControlConfig", "Controller"]
