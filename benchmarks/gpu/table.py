"""Tables of the operators' and their peers' times in Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.gpu.timing import Bench, PeerTimes

HEADER = (
    "operator", "in a graph, us", "spread", "cold, us", "eager, us", "CPU time of an eager call, us",
    "of the copy rate", "goal, us",
)  # fmt: skip
PEERS_HEADER = (
    "operator", "peer", "in a graph, us", "ratio to ours in a graph", "eager, us", "ours eager, us",
    "ratio to ours eager",
)  # fmt: skip


def table(bench: Bench, machine: dict[str, Any]) -> str:
    lines = [
        f"{machine['gpu']}, driver {machine['driver']}, torch {machine['torch']}, OpenCV {machine['opencv']}; copy "
        f"{bench.copy_bytes_per_s / 1e12:.2f} TB/s; an empty launch in a graph {bench.floor_warm_us:.2f} us.",
        "",
        "| " + " | ".join(HEADER) + " |",
        "|---" * len(HEADER) + "|",
    ]
    for row in bench.rows:
        share = row.moved_bytes / (row.warm_us * 1e-6) / bench.copy_bytes_per_s
        times = f"{row.warm_us:.2f} | {row.warm_spread_us:.2f} | {row.cold_us:.2f} | {row.eager_us:.1f}"
        lines.append(f"| {row.name} | {times} | {row.launch_cpu_us:.1f} | {share:.0%} | {row.goal_us or ''} |")
    lines += ["", "| " + " | ".join(PEERS_HEADER) + " |", "|---" * len(PEERS_HEADER) + "|"]
    for row in bench.rows:
        lines += [f"| {row.name} | {title} | {cells(times)} |" for title, times in row.peers.items()]
    return "\n".join(lines) + "\n"


def cells(times: PeerTimes) -> str:
    """The last five columns of a peer's row."""
    called_us = times.eager_us if times.cpu_us is None else times.cpu_us
    eager = f"{called_us:.0f} | {times.ours_eager_us:.0f} | {times.eager_ratio:.1f}x"
    if times.cpu_us is not None:
        return f"runs on the CPU |  | {eager}"
    if times.graph_us is None:
        return f"cannot be captured: {times.not_captured} |  | {eager}"
    return f"{times.graph_us:.1f} | {times.graph_ratio:.1f}x | {eager}"
