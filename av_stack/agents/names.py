"""The names of the agents, and what is known of each before it is loaded."""

from __future__ import annotations

from av_core.errors import ConfigError
from av_core.suggest import did_you_mean

STACK = "stack"
AGENTS = (STACK, "idle", "straight")
"""The agents that come with the project."""


def check_agent(name: str) -> None:
    """Raise ConfigError unless `name` is the name of an agent."""
    if name not in AGENTS:
        raise ConfigError(
            f"--agent: unknown name {name!r:.80}{did_you_mean(name, AGENTS)}; allowed are {', '.join(AGENTS)}"
        )


def uses_cameras(name: str) -> bool:
    """Whether the agent looks at pictures; without them a drive is much faster."""
    return name == STACK
