"""The table and the picture of docs/operators/streams.md, from the figures of `benchmarks.gpu.library.streams`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from benchmarks.markdown_tables import rows

WIDTH, LEFT, RIGHT = 900, 110, 880
"""Of the picture, px."""
LANE, GAP, HEAD = 22, 26, 76
"""Height of a stream's lane, between two timelines, and of the legend, px."""
COLOURS = {"upload": "#4477aa", "kernels": "#ee7733", "download": "#228833", "copy": "#999999"}


def times_table(figures: dict[str, Any]) -> str:
    """One line for each batch: its time by the number of streams, and the gain of the best number."""
    counts = list(figures["loads"][0]["batch_ms"])
    lines = []
    for load in figures["loads"]:
        medians = {streams: times[1] for streams, times in load["batch_ms"].items()}
        best = min(medians.values())
        size = load["chunk_bytes"]
        chunk = f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
        lines.append(
            [
                load["what"],
                f"{load['chunks']} of {chunk}",
                str(load["kernels"]),
                *(f"{medians[streams]:.2f}" for streams in counts),
                f"{medians['1'] / best:.2f}",
            ]
        )
    names = ["batch", "chunks", "kernels per chunk", *(f"{streams}, ms" for streams in counts), "gain, times"]
    return rows(names, lines)


def steps_sentence(figures: dict[str, Any]) -> str:
    """How long one step takes alone."""
    steps = figures["steps_ms"]
    parts = [f"{name} {1e3 * steps[name]:.0f} us" for name in ("upload", "kernel", "download")]
    return f"One chunk of 16 MiB alone on the {figures['gpu']}: {', '.join(parts)}."


def picture(figures: dict[str, Any]) -> str:
    """The timelines of the recorded batches, one below the other; those of one load have one scale of time."""
    drawn = []
    for load in figures["loads"]:
        longest = max((span["end_us"] for spans in load["timelines"].values() for span in spans), default=0.0)
        for streams, spans in load["timelines"].items():
            drawn.append((f"{load['name']}, {streams} stream{'' if streams == '1' else 's'}", spans, longest))
    parts, top = _legend(figures["gpu"]), HEAD
    for title, spans, longest in drawn:
        parts.append(_text(LEFT, top - 6, f"{title}: {max(span['end_us'] for span in spans) / 1e3:.2f} ms"))
        for stream in range(1 + max(span["stream"] for span in spans)):
            parts.append(_text(8, top + LANE * stream + 15, f"stream {stream}"))
        parts += _bars(spans, top, longest)
        top += LANE * (1 + max(span["stream"] for span in spans)) + GAP
    height = top
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" '
        f'font-size="12">\n<rect width="{WIDTH}" height="{height}" fill="white"/>'
    )
    return "\n".join([head, *parts, "</svg>\n"])


def _bars(spans: Sequence[dict[str, Any]], top: int, longest: float) -> list[str]:
    made = []
    for span in spans:
        x, end = (LEFT + (RIGHT - LEFT) * span[name] / longest for name in ("begin_us", "end_us"))
        y = top + LANE * span["stream"]
        made.append(
            f'<rect x="{x:.1f}" y="{y + 2}" width="{max(end - x, 0.3):.1f}" height="{LANE - 4}" '
            f'fill="{COLOURS[span["kind"]]}"/>'
        )
    return made


def _legend(gpu: str) -> list[str]:
    parts = [_text(8, 20, f"{gpu}: where the steps of one batch lie, by torch's profiler")]
    for number, kind in enumerate(("upload", "kernels", "download")):
        x = LEFT + 130 * number
        parts += [f'<rect x="{x}" y="31" width="14" height="14" fill="{COLOURS[kind]}"/>', _text(x + 20, 42, kind)]
    return parts


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y}">{escape(text)}</text>'
