"""Errors that a person can act on; the command line prints them as one line and exits with their status."""

from __future__ import annotations


class AvStackError(Exception):
    """What is wrong, where, and what is allowed, in one line."""

    exit_status = 1


class ConfigError(AvStackError):
    """A configuration file, key, value or unit that is not allowed."""

    exit_status = 2


class WorldError(AvStackError):
    """The simulator cannot be reached, has the wrong version, or went away."""

    exit_status = 3


class RouteError(AvStackError):
    """No drivable way between two places of the map."""

    exit_status = 4


def install_hint(extra: str) -> str:
    """How to install an optional part of the project, which no package index has."""
    return f"in the project's folder run: .venv/bin/pip install -c constraints.txt -e '.[{extra}]'"
