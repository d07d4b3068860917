"""Errors that the user sees: the command line prints the message as one line and exits with the error's status."""

from __future__ import annotations


class AvStackError(Exception):
    """Base class. The message says in one line what is wrong, where, and what is allowed."""

    exit_status = 1


class ConfigError(AvStackError):
    """A configuration file, key, value or unit that is not allowed."""

    exit_status = 2


class WorldError(AvStackError):
    """The simulator cannot be reached, has the wrong version, or was lost."""

    exit_status = 3


class RouteError(AvStackError):
    """There is no drivable route between two places on the map."""

    exit_status = 4


class AgentError(AvStackError):
    """The agent that drives the ego cannot be made, fails, does not answer, or returns an invalid command."""

    exit_status = 5


def install_hint(extra: str) -> str:
    """A sentence for an error message: how to install the optional part `extra`; the project is on no package index."""
    return f"in the project's folder run: .venv/bin/pip install -c constraints.txt -e '.[{extra}]'"
