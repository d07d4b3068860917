"""Checks that the imitation can be a drive's agent, before there is a world, and makes this agent in a world."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from av_core.errors import ConfigError, install_hint
from av_stack.agents.base import Agent
from av_stack.world.base import World
from control import ControlConfig
from perception.imitation.shipped import SHIPPED
from planning import Route

RIG = "imitation"
"""The rig whose first camera is the network's input; it was trained with pictures of no other camera."""


def chosen_weights(weights: Path | None) -> Path:
    """The weights that drive: `weights`, or without them the shipped ones."""
    return weights or SHIPPED


def check_imitation(rig: str | None) -> None:
    """Raise ConfigError if torch is missing, or if another rig is chosen."""
    if rig is not None:
        raise ConfigError(f"--rig {rig}: --agent imitation has a rig of its own")
    if find_spec("torchvision") is None:
        raise ConfigError(f"--agent imitation: torchvision is not installed; {install_hint('train')}")


def make_imitation(
    world: World, route: Route, camera: str, control: ControlConfig, weights: Path, device: str = "cpu"
) -> Agent:
    """The imitation for this world, whose `camera` has the rig's name. Raises ConfigError for other weights."""
    from av_stack.imitation.agent import ImitationAgent
    from perception.imitation.driver import ImitationDriver

    driver = ImitationDriver(weights, device)
    return ImitationAgent(driver, camera, world.lane_graph, world.vehicle, route, control)
