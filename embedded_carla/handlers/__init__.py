"""RPC methods by domain; importing this package registers them for `answer`."""

from __future__ import annotations

from embedded_carla.handlers import (
    ackermann,
    actors,
    batch,
    bodywork,
    core,
    debug,
    lamps,
    lights,
    missing,
    queries,
    recorder,
    sensors,
    skeletons,
    traffic_manager,
    vehicles,
    walkers,
)
from embedded_carla.handlers.registry import METHODS, answer, failure

__all__ = [
    "METHODS",
    "ackermann",
    "actors",
    "answer",
    "batch",
    "bodywork",
    "core",
    "debug",
    "failure",
    "lamps",
    "lights",
    "missing",
    "queries",
    "recorder",
    "sensors",
    "skeletons",
    "traffic_manager",
    "vehicles",
    "walkers",
]
