"""Chooses the imitation as a drive's agent: what it needs, before there is a world, and how it is made in one."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from av_core.errors import ConfigError, install_hint
from av_stack.agents.base import Agent
from av_stack.world.base import World
from control import ControlConfig
from planning import Route

RIG = "imitation"
"""The rig whose first camera the network sees through; it knows the pictures of no other."""


def check_imitation(weights: Path | None, rig: str | None) -> None:
    """Raise ConfigError where the weights or torch are missing, or it is to look through other cameras."""
    if weights is None:
        raise ConfigError("--agent imitation: needed is --weights; `av-stack train imitation` makes them")
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
