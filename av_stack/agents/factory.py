"""Chooses the agent of a drive by its name, before there is a world, and makes it once there is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from av_core.errors import ConfigError
from av_stack.agents.base import Agent
from av_stack.agents.blind import BLIND
from av_stack.agents.custom import AgentSetup, CustomAgent, load_class
from av_stack.agents.guard import STEP_LIMIT_S, Guard
from av_stack.agents.names import CARLA_AGENTS, IMITATION, STACK, check_agent, is_class_name
from av_stack.world.base import World


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """The choice of an agent, which `make_agent` can make.

    `kind` is the class of an agent of the user's own; None for the others. The agent `autopilot` gets the ego in the
    step `from_frame`; 0 means at once.
    """

    name: str
    uses_cameras: bool
    kind: type[Any] | None = None
    from_frame: int = 0


def choose_agent(name: str, folder: Path | None = None) -> AgentChoice:
    """Find the agent `name`; `folder` holds CARLA's own agents.

    Raises ConfigError for an unknown name, AgentError for a class that cannot be loaded.
    """
    check_agent(name)
    if folder is not None and name not in CARLA_AGENTS:
        raise ConfigError(f"--agents: it is for {' and '.join(CARLA_AGENTS)}, and --agent {name} drives")
    if is_class_name(name):
        kind = load_class(name)
        return AgentChoice(name, bool(getattr(kind, "uses_cameras", True)), kind)
    if name in CARLA_AGENTS:
        from av_stack.world.carla.agents.carla_agents import check_folder

        check_folder(folder)
    return AgentChoice(name, uses_cameras=name in (STACK, IMITATION))


def make_agent(choice: AgentChoice, world: World, setup: AgentSetup, step_limit_s: float = STEP_LIMIT_S) -> Agent:
    """The chosen agent, ready to drive in `world`; not for the stack and the imitation, which need more arguments.

    Raises AgentError where it cannot be made, ConfigError where it needs a CARLA server but `world` is a recording.
    """
    if choice.name in BLIND:
        return BLIND[choice.name]()
    guard = Guard(choice.name, step_limit_s)
    if choice.kind is not None:
        return CustomAgent(choice.name, choice.kind, setup, guard)
    from av_stack.world.carla.agents.autopilot import Autopilot
    from av_stack.world.carla.agents.carla_agents import make_carla_agent
    from av_stack.world.carla.world import CarlaWorld

    if not isinstance(world, CarlaWorld):
        raise ConfigError(f"--agent {choice.name}: it drives only on a CARLA server")
    if choice.name == "autopilot":
        return Autopilot(world, setup.route, choice.from_frame)
    return make_carla_agent(choice.name, world, setup.route, guard)
