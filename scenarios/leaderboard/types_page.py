"""The table of scenario types in docs/scenarios.md: `python -m scenarios.leaderboard.types_page` prints it."""

from __future__ import annotations

from scenarios.leaderboard.parameters import Parameter
from scenarios.leaderboard.types import TYPES, Group, ScenarioType


def types_table() -> str:
    """One section for each group of types."""
    return "\n".join(_section(group) for group in Group).rstrip("\n")


def _section(group: Group) -> str:
    rows = [_row(entry) for entry in TYPES.values() if entry.group is group]
    head = ["| type | what happens | timeout | parameters |", "|---|---|---|---|"]
    return "\n".join([f"### {group.value.capitalize()}", "", *head, *rows, ""])


def _row(entry: ScenarioType) -> str:
    parameters = "; ".join(_parameter(parameter) for parameter in entry.parameters)
    return f"| `{entry.name}` | {entry.about} | {'yes' if entry.has_timeout else ''} | {parameters} |"


def _parameter(parameter: Parameter) -> str:
    if not parameter.has_effect:
        return f"`{parameter.name}`: no effect"
    allowed = f" ({parameter.allowed_text})" if parameter.allowed_text else ""
    return f"`{parameter.name}`: {parameter.about}, {_default(parameter)}{allowed}"


def _default(parameter: Parameter) -> str:
    if parameter.is_required:
        return f"a place in {parameter.unit}, required"
    return f"default {parameter.default_text}"


if __name__ == "__main__":
    print(types_table())
