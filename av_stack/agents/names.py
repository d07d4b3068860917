"""The names of the agents that come with the project. Light to import, so that the command line can list them."""

from __future__ import annotations

import re

from av_core.errors import ConfigError
from av_core.suggest import did_you_mean

STACK = "stack"
IMITATION = "imitation"
"""Drives by the imitation network, which computes a path and a target speed from a picture; it needs the weights."""

CARLA_AGENTS = ("behavior", "basic")
"""CARLA's own agents, from the user's copy of CARLA's folder `agents`."""

AGENTS = (STACK, IMITATION, "autopilot", *CARLA_AGENTS, "idle", "straight")

PRIVILEGED = ("autopilot", *CARLA_AGENTS)
"""Agents that ask the simulator for the truth."""

CLASS_FORM = "package.module:Class"
"""Form of the name of an agent class of the user's own."""

_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def is_class_name(name: str) -> bool:
    """Whether `name` has the form of `CLASS_FORM`."""
    return _CLASS.fullmatch(name) is not None


def check_agent(name: str) -> None:
    """Raise ConfigError unless `name` is one of `AGENTS` or has the form of `CLASS_FORM`."""
    if name not in AGENTS and not is_class_name(name):
        allowed = f"{', '.join(AGENTS)}, or a class of your own as {CLASS_FORM}"
        raise ConfigError(f"--agent: unknown name {name!r:.80}{did_you_mean(name, AGENTS)}; allowed are {allowed}")
