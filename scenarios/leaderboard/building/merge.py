"""Merges the scripts of several scenarios into one script; prefixes keep their names apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.script.model import Script

NAME_MAX = 60
"""Largest length of the prefix that is made of a scenario's name, in characters."""

PROP = "static."
"""Prefix of the blueprints of props. A scenario can be played without its props, but not without its other actors."""

_WORDS = {"type", "blueprint", "blueprints", "colour", "to", "door", "state", "ids"}
"""Keys of a script whose values must not be renamed: they never name actors, flows or events."""

_DO_MAX = 50
"""Largest number of actions in one event."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The script of one scenario.

    `near` is a condition: when it holds, the actors are spawned and the flows start. Without it they do so at once.
    """

    name: str
    script: Script
    near: dict[str, Any] | None = None


def merged(parts: Sequence[Prepared]) -> dict[str, Any]:
    """One script of all `parts`, in the form that YAML has; each name gets its scenario's name as a prefix."""
    whole: dict[str, Any] = {"actors": {}, "flows": {}, "events": [], "parts": {}}
    taken: set[str] = set()
    for part in parts:
        prefix = _prefix(part.name, taken)
        own = part.script.model_dump(exclude_unset=True)
        if part.near is not None:
            _make_wait(own, part.near)
        names = {*own.get("actors", {}), *own.get("flows", {}), *(event["name"] for event in own.get("events", ()))}
        renamed = _renamed(own, {name: f"{prefix}_{name}" for name in names})
        for kind in ("actors", "flows"):
            whole[kind].update(renamed.pop(kind, {}))
        whole["events"] += renamed.pop("events", ())
        needed = [name for name, actor in part.script.actors.items() if not actor.blueprint.startswith(PROP)]
        actors = [f"{prefix}_{name}" for name in needed]
        tables = [{**table, "actors": actors} for table in renamed.pop("parts", {}).values()]
        whole["parts"].update({f"{prefix}_{i}" if i else prefix: table for i, table in enumerate(tables)})
        whole.update(renamed)
    return whole


def _prefix(name: str, taken: set[str]) -> str:
    """A prefix made of the scenario's name, different from all in `taken`; adds it to `taken`."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)[:NAME_MAX]
    plain = plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"
    found, number = plain, 2
    while found in taken:
        found, number = f"{plain}_{number}", number + 1
    taken.add(found)
    return found


def _make_wait(script: dict[str, Any], near: dict[str, Any]) -> None:
    """Change `script` in place: an event with the condition `near` now spawns its actors and starts its flows."""
    actions = []
    for name, actor in script.get("actors", {}).items():
        if not actor.get("waits"):
            actor["waits"] = True
            actions.append({"spawn": name})
    for name, flow in script.get("flows", {}).items():
        if flow.pop("on", False):
            actions.append({"start_flow": name})
    events = [
        {"name": f"near_{number}", "when": near, "do": actions[start : start + _DO_MAX]}
        for number, start in enumerate(range(0, len(actions), _DO_MAX), start=1)
    ]
    script["events"] = [*events, *script.get("events", ())]


def _renamed(value: Any, names: dict[str, str], key: str = "") -> Any:
    """`value` with the `names` replaced, both where they are defined (keys) and where they are used (values)."""
    if isinstance(value, dict):
        return {names.get(inner, inner) if key in ("actors", "flows") else inner: _renamed(entry, names, inner)
                for inner, entry in value.items()}  # fmt: skip
    if isinstance(value, (list, tuple)):
        return [_renamed(entry, names, key) for entry in value]
    return names.get(value, value) if isinstance(value, str) and key not in _WORDS else value
