"""Format of the files with figures of the operator library's benchmarks: JSON with rounded numbers.

A list of rows is written as tables: the names once, then one line of values for each row. A row with other names begins
a new table.
"""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

DIGITS = 6
"""Significant digits of a figure; the third or fourth digit of a median of 15 rounds is already uncertain."""
Rows = list[dict[str, Any]]


def text(figures: dict[str, Any]) -> str:
    """The figures as JSON: lists of rows as tables, other lists with one line per item, everything else in one line."""
    parts = []
    for name, value in figures.items():
        if _is_rows(value):
            parts.append(f'"{name}":[{",".join(_table(list(rows)) for _, rows in groupby(value, key=list))}]')
        elif isinstance(value, list):
            items = ",\n".join(_compact(item) for item in value)
            parts.append(f'"{name}":[\n{items}\n]' if value else f'"{name}":[]')
        else:
            parts.append(f'"{name}":{_compact(value)}')
    return "{" + ",\n".join(parts) + "}\n"


def opened(written: str) -> dict[str, Any]:
    """The figures in a text that `text` wrote."""
    figures: dict[str, Any] = json.loads(written)
    return {name: _rows_of(value) if _is_tables(value) else value for name, value in figures.items()}


def read(file: Path) -> dict[str, Any]:
    """The figures of a file."""
    return opened(file.read_text())


def rounded(value: Any) -> Any:
    """The value with each float rounded to `DIGITS` significant digits; integers are not changed."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _is_tables(value: Any) -> bool:
    return _is_rows(value) and all(set(table) == {"names", "lines"} for table in value)


def _table(rows: Rows) -> str:
    lines = ",\n".join(_compact(list(row.values())) for row in rows)
    return f'{{"names":{_compact(list(rows[0]))},"lines":[\n{lines}\n]}}'


def _rows_of(tables: Rows) -> Rows:
    return [dict(zip(table["names"], line, strict=True)) for table in tables for line in table["lines"]]


def _compact(value: Any) -> str:
    return json.dumps(rounded(value), separators=(",", ":"))


def variant_of(row: dict[str, Any]) -> str:
    """The variant of a row's case besides its size: transposed matrices, or the number of pairs."""
    transposed, pairs = row.get("transposed", ""), row.get("pairs", 1)
    parts = [f"{transposed} transposed"] * bool(transposed) + [f"{pairs} pairs"] * (pairs > 1)
    return ", ".join([*parts, *["plus c"] * bool(row.get("has_sum"))])
