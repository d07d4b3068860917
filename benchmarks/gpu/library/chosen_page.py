"""The tables of Nsight Compute's counters of chosen sizes, from what `chosen_counters` counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.gpu.library.goals import LIBRARIES
from benchmarks.markdown_tables import rows
from cuda_ops.library.convolve.ladder import CONVOLVE

KERNEL_LETTERS = 32
"""Of the name of a kernel: cuDNN's have 150."""
LAUNCH = ("operator", "type", "size", "by", "kernel", "blocks")
"""The columns of `launch`."""
NAMES = (
    *LAUNCH,
    "time, us",
    "memory, of the fewest bytes",
    "memory, of its peak",
    "through L2, MB",
    "tensor cores, of their peak",
    "operations, of the fewest",
    "warps resident",
    "issuing",
    "waits",
)


def table(counted: Sequence[dict[str, Any]], is_of_convolutions: bool) -> str:
    """One line for each launch: of the convolutions, or of all else."""
    return rows(NAMES, [_line(row) for row in counted if (row["operator"] == CONVOLVE.name) == is_of_convolutions])


def _line(row: dict[str, Any]) -> list[str]:
    moved, fewest = row["dram_read_bytes"] + row["dram_write_bytes"], row["fewest_bytes"]
    waits = [f"{name} {cycles:.1f}" for name, cycles in row["cycles_waited_for"].items() if name != "selected"]
    return [
        *launch(row),
        f"{row['time_ns'] / 1e3:.1f}",
        f"{moved / fewest:.2f}" if fewest else "",
        f"{row['dram_percent_of_peak']:.0f} %",
        f"{row['l2_bytes'] / 1e6:.0f}",
        f"{row['tensor_percent_of_peak']:.0f} %" if row["tensor_operations"] else "",
        f"{row['tensor_operations'] / fewest_operations(row):.2f}" if row["tensor_operations"] else "",
        f"{row['warps_resident_percent']:.0f} %",
        f"{row['issuing_percent_of_cycles']:.0f} %",
        ", ".join(waits[:2]),
    ]


def launch(row: dict[str, Any]) -> list[str]:
    """What was launched: the first cells of a line."""
    by = LIBRARIES.get(row["contender"], row["contender"])
    return [row["operator"], row["element"], size(row), by, f"`{kernel_of(row)}`", f"{row['blocks']:.0f}"]


def kernel_of(row: dict[str, Any]) -> str:
    """The kernel's name without what the pages do not need: return type, template's arguments, the end of long ones."""
    name: str = row["kernel"].removeprefix("void ").replace("<unnamed>::", "")
    return name.split("<")[0][:KERNEL_LETTERS]


def fewest_operations(row: dict[str, Any]) -> int:
    """What a product or a convolution has to compute, by its sizes."""
    work: int = row.get("operations") or 2 * row["rows"] * row["columns"] * row["depth"]
    return work


def size(row: dict[str, Any]) -> str:
    """The size as the pages write it: of a convolution its window, pictures and channels."""
    if row["operator"] == CONVOLVE.name:
        pictures = " x ".join(str(row[name]) for name in ("pictures", "height", "width"))
        return f"{row['taps']} x {row['taps']}, {pictures}, {row['channels']} to {row['columns']}"
    numbers = " x ".join(str(row[name]) for name in ("rows", "columns", "depth") if row.get(name) is not None)
    return f"{numbers}, {row['transposed']} transposed" if row.get("transposed") else numbers
