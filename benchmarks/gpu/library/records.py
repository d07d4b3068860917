"""How the benchmarks of the operator library write their figures: JSON, one measured row per line, rounded numbers."""

from __future__ import annotations

import json
from typing import Any

DIGITS = 6
"""Significant digits of a figure: a median of 15 rounds is uncertain in the third or fourth."""


def text(figures: dict[str, Any]) -> str:
    """The figures as JSON: a list takes a line for each of its items, all else one line."""
    parts = []
    for name, value in figures.items():
        if isinstance(value, list):
            items = ",\n".join(f"  {json.dumps(rounded(item))}" for item in value)
            parts.append(f'"{name}": [\n{items}\n ]' if value else f'"{name}": []')
        else:
            parts.append(f'"{name}": {json.dumps(rounded(value))}')
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def rounded(value: Any) -> Any:
    """The value with `DIGITS` significant digits in each of its numbers; whole numbers stay as they are."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
