"""The table of version 6 before and with the hint that the L2 cache keeps rows longest, from two records of
`python -m benchmarks.gpu.library --parts liger`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchmarks.markdown_tables import rows

HINTED = "v6"
"""The version that has the hint."""

Timed = dict[tuple[str, str, int], dict[str, dict[str, Any]]]
"""By operator, type and columns: the rows of ours, torch and Liger, by contender."""


def table(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> str:
    """One line for each operator and type: sizes at which version 6 ran in both records.

    The two ran on two GPUs, so torch's time in the same run is the measure: "time" is the geometric mean of ours /
    torch with the hint, over that before; then the best and the worst size.
    """
    old, new = _by_size(before), _by_size(after)
    found = []
    for name in dict.fromkeys(size[:2] for size in new):
        sizes = [size for size in new if size[:2] == name and HINTED in new[size] and HINTED in old.get(size, {})]
        shares = {size[2]: _beside(new[size], "torch") / _beside(old[size], "torch") for size in sizes}
        mean = math.exp(sum(math.log(share) for share in shares.values()) / len(shares))
        best, worst = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
        extremes = [f"{shares[columns]:.2f} ({columns})" for columns in (best, worst)]
        rates = [new[size][HINTED]["tb_per_s"] for size in sizes]
        reached = f"{min(rates):.2f} to {max(rates):.2f}"
        found.append(
            [*name, str(len(sizes)), f"{mean:.3f}", *extremes, reached, *(_faster(one, sizes) for one in (old, new))]
        )
    titles = ("operator", "type", "sizes", "time", "best", "worst", "TB/s with it", "Liger faster before", "with it")
    return rows(titles, found)


def _by_size(timed: Sequence[dict[str, Any]]) -> Timed:
    found: Timed = {}
    for row in timed:
        found.setdefault((row["operator"], row["element"], row["columns"]), {})[row["contender"]] = row
    return found


def _beside(contenders: dict[str, dict[str, Any]], peer: str) -> float:
    return float(contenders[HINTED]["median_us"]) / float(contenders[peer]["median_us"])


def _faster(timed: Timed, sizes: Sequence[tuple[str, str, int]]) -> str:
    """At how many of the sizes that Liger takes it is faster."""
    taken = [timed[size] for size in sizes if timed[size].get("liger", {}).get("median_us")]
    return f"{sum(_beside(one, 'liger') > 1.0 for one in taken)} of {len(taken)}"
