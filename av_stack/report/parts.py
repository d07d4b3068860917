"""The parts of every page: the template, style and scripts, plotly, and values as HTML and JSON."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from plotly.offline import get_plotlyjs

PLOTLY_COMPRESSION = 6
"""Level of gzip: 9 takes twice the time and makes the page 0.4 % smaller."""

MISSING = "–"
"""Text in the place of a missing figure."""


def page(template: str, scripts: Sequence[str], data: Mapping[str, Any], **parts: str) -> str:
    """A page in one file: `template` with `parts`, which are HTML, and with the scripts' `data`."""
    return Template(static(template)).substitute(
        parts,
        style=static("page.css"),
        script="\n".join(static(name) for name in scripts),
        data=_json(data),
        plotly=_compressed(get_plotlyjs()),
    )


def static(name: str) -> str:
    """Content of a file that belongs to the pages."""
    return (files("av_stack.report") / "static" / name).read_text(encoding="utf-8")


def text(value: object) -> str:
    """A value as text that is safe in HTML."""
    return html.escape(str(value))


def figure(value: float | None, digits: int = 0, unit: str = "") -> str:
    """A number with its unit, or a dash."""
    return MISSING if value is None else f"{value:.{digits}f}" + (f" {unit}" if unit else "")


def percent(share: float | None, digits: int = 0) -> str:
    return MISSING if share is None else figure(100.0 * share, digits, "%")


def rows(pairs: Iterable[tuple[str, str]]) -> str:
    """A table of names and values; the values are HTML."""
    lines = "".join(f"<tr><th>{text(name)}</th><td>{value}</td></tr>" for name, value in pairs)
    return f'<table class="facts">{lines}</table>'


def _json(data: Mapping[str, Any]) -> str:
    """JSON that may stand inside a script element. NaN, which JSON lacks, must not occur."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _compressed(script: str) -> str:
    """A script of 4.8 MB as 2.0 MB of text; `boot.js` unpacks it."""
    return base64.b64encode(gzip.compress(script.encode(), PLOTLY_COMPRESSION, mtime=0)).decode()
