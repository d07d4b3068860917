"""The table of rows of 4k with one thing changed, from what `python -m benchmarks.gpu.library.experiments.row_policies`
wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.markdown_tables import rows

CHANGES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no hint": {"load": "PLAIN"},
    "L1 keeps": {"load": "L1_LAST"},
    "L1 evicts first": {"load": "L1_FIRST"},
    "L2 evicts first": {"load": "L2_FIRST"},
    "**both keep**": {"load": "BOTH_LAST"},
    "loaded twice": {"load": "PLAIN", "again": "PLAIN"},
    "loaded twice, both keep": {"load": "BOTH_LAST", "again": "BOTH_FIRST"},
    "stores evicted first": {"store": "STORE_CS"},
    "half of the warps": {"held": 1024},
}
"""What differs from the kernel as it is: loads that no cache of a processor keeps, each once, and plain stores."""
AS_IT_IS = {"load": "ONCE", "again": "", "store": "STORE_PLAIN", "weights": "EACH", "held": 0}
ALL_RESIDENT = 2048
"""Threads that the processor of the table's kernels holds at most."""
BESIDE = {"default": "version 6", "torch.compile": "torch.compile", "relu": "ReLU"}
"""Kernels that were timed in turn with them."""


def table(timed: Sequence[dict[str, Any]]) -> str:
    """One line for each operator and type: TB/s of the kernel that fills a processor, and of others beside it."""
    cases = dict.fromkeys((row["operator"], row["element"]) for row in timed)
    found = []
    for operator, element in cases:
        of_case = [row for row in timed if (row["operator"], row["element"]) == (operator, element)]
        base = next(row for row in of_case if row["held"] == ALL_RESIDENT)
        rates = [_rate(of_case, {**AS_IT_IS, "threads": base["threads"], **change}) for change in CHANGES.values()]
        rates += [_rate(of_case, {"contender": name}) for name in BESIDE]
        found.append([operator, element, *rates])
    return rows(("operator", "type", *CHANGES, *BESIDE.values()), found)


def _rate(timed: Sequence[dict[str, Any]], wanted: dict[str, Any]) -> str:
    """The rate of the one kernel with these values, among those that may fill a processor."""
    (one,) = (
        row
        for row in timed
        if all(row[name] == value for name, value in wanted.items())
        and ("contender" in wanted or row["resident"] == ALL_RESIDENT)
    )
    return f"{one['tb_per_s']:.2f}"
