"""Draws a roofline as an SVG picture; its bytes depend only on the figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import groupby

from cuda_ops.library.roofline import Point, Roof

WIDTH, HEIGHT = 900, 560
LEFT, RIGHT, TOP, BOTTOM = 70, 640, 50, 500
"""Edges of the plot, px."""
INTENSITIES, RATES = (0.05, 5000.0), (0.01, 4000.0)
"""Operations per byte and TFLOP/s at the edges of the plot."""
HUES = 12
"""Number of operators whose colours differ only by hue; the following ones are darker."""
LIGHTNESSES = (60, 42, 25)
"""Lightness of the colours of the first `HUES` operators, the next and the last, %."""


def x_px(operations_per_byte: float) -> float:
    return LEFT + (RIGHT - LEFT) * _part(operations_per_byte, *INTENSITIES)


def y_px(tflop_per_s: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * _part(tflop_per_s, *RATES)


def _part(value: float, least: float, most: float) -> float:
    return math.log(value / least) / math.log(most / least)


COLD = "the fastest version of each operator at each size, cold data"
WARM = "the detectors' convolutions in float16, one picture, arrays in the L2 cache"


def picture(points: Sequence[Point], roof: Roof, what: str = COLD) -> str:
    """The SVG text. Both axes are logarithmic; circles are float32, squares smaller types."""
    names = list(dict.fromkeys(point.operator for point in points))
    colours = {name: _colour(number) for number, name in enumerate(names)}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 25, f"{roof.gpu}: {what}"),
        *_axes(),
        *_roof(roof),
        *(_roof_of_8_bits(roof) if any(point.tensor_products == 0.5 for point in points) else []),
        *(line for name, group in groupby(points, _operator) for line in _marks(list(group), colours[name])),
        *_legend(colours),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _colour(number: int) -> str:
    lightness = LIGHTNESSES[number // HUES % len(LIGHTNESSES)]
    return f"hsl({number % HUES * 360 // HUES}, 75%, {lightness}%)"


def _axes() -> list[str]:
    made = []
    for value in (0.1, 1.0, 10.0, 100.0, 1000.0):
        x = x_px(value)
        made += [_line(x, BOTTOM, x, TOP, "#dddddd"), _text(x, BOTTOM + 18, f"{value:g}", "middle")]
    for value in (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0):
        y = y_px(value)
        made += [_line(LEFT, y, RIGHT, y, "#dddddd"), _text(LEFT - 8, y + 4, f"{value:g}", "end")]
    made.append(_text((LEFT + RIGHT) / 2, BOTTOM + 40, "operations per byte", "middle"))
    made.append(_text(LEFT, TOP - 6, "TFLOP/s"))
    return made


def _roof_of_8_bits(roof: Roof) -> list[str]:
    """The line of the roof for 8-bit and 2:4 sparse products, twice as high as that of half precision."""
    half, most = roof.half_tflop_per_s, 2 * roof.half_tflop_per_s
    ridge = x_px(most / roof.memory_tb_per_s)
    return [
        _line(x_px(half / roof.memory_tb_per_s), y_px(half), ridge, y_px(most), "black"),
        _line(ridge, y_px(most), x_px(INTENSITIES[1]), y_px(most), "black"),
        _text(RIGHT, y_px(most) - 6, f"8 bits or 2:4 sparse {most:.0f} TFLOP/s", "end"),
    ]


def _copy(roof: Roof) -> list[str]:
    """The line of the copy's rate, if another call was faster."""
    if roof.copy_tb_per_s == roof.memory_tb_per_s:
        return []
    least, end = INTENSITIES[0], roof.float32_tflop_per_s / roof.copy_tb_per_s
    flat, low = y_px(roof.float32_tflop_per_s), y_px(least * roof.copy_tb_per_s)
    return [
        _line(x_px(least), low, x_px(end), flat, "#888888", 'stroke-dasharray="5 4"'),
        _text(x_px(6.0), y_px(4.0 * roof.copy_tb_per_s), f"torch's copy {roof.copy_tb_per_s:.2f} TB/s"),
    ]


def _roof(roof: Roof) -> list[str]:
    least, most = INTENSITIES
    flat, high = y_px(roof.float32_tflop_per_s), y_px(roof.half_tflop_per_s)
    high_ridge = x_px(roof.half_tflop_per_s / roof.memory_tb_per_s)
    return [
        _line(x_px(least), y_px(least * roof.memory_tb_per_s), x_px(roof.ridge), flat, "black"),
        _line(x_px(roof.ridge), flat, x_px(most), flat, "black"),
        _line(x_px(roof.ridge), flat, high_ridge, high, "black"),
        _line(high_ridge, high, x_px(most), high, "black"),
        _text(x_px(90.0), high - 6, f"tensor cores, half precision {roof.half_tflop_per_s:.0f} TFLOP/s", "end"),
        _text(RIGHT, flat - 6, f"float32 {roof.float32_tflop_per_s:.1f} TFLOP/s", "end"),
        _text(x_px(4.0), y_px(5.0 * roof.memory_tb_per_s), f"memory {roof.memory_tb_per_s:.2f} TB/s", "end"),
        *_copy(roof),
    ]


def _operator(point: Point) -> str:
    return point.operator


def _marks(points: Sequence[Point], colour: str) -> list[str]:
    """The marks of one operator, which have the same colour."""
    return [f'<g fill="{colour}" fill-opacity="0.7">', *map(_mark, points), "</g>"]


def _mark(point: Point) -> str:
    x, y = x_px(point.operations_per_byte), y_px(point.tflop_per_s)
    where = f"{point.operator} {point.element} {point.rows} x {point.columns}: {point.tb_per_s:.2f} TB/s"
    shape = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"'
        if point.element == "float32"
        else f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7"'
    )
    return f"{shape}><title>{escape(where)}</title>{_end(shape)}"


def _end(shape: str) -> str:
    return "</circle>" if shape.startswith("<circle") else "</rect>"


def _legend(colours: dict[str, str]) -> list[str]:
    made = []
    pitch_px = min(18.0, (BOTTOM - TOP) / max(len(colours), 1))
    for number, (name, colour) in enumerate(colours.items()):
        y = TOP + 8 + pitch_px * number
        made += [f'<rect x="{RIGHT + 20}" y="{y - 9:.1f}" width="10" height="10" fill="{colour}"/>']
        made += [_text(RIGHT + 38, y, name)]
    made.append(_text(RIGHT + 20, BOTTOM + 18, "circle: float32; square: smaller types"))
    return made


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {more}/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
