"""The limits that a search found, in words for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def limit_words(limit: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """Where one module first misses its limit, with the interval over the drives."""
    count, interval = len(limit["limits"]), limit["interval"]
    unknown = f"; too few samples in {limit['unknown']} of {count} drives" if limit["unknown"] else ""
    if limit["unknown"] == count:
        return "not known: too few samples"
    if interval is None:
        return f"met up to {content['search']['second']:g}{unknown}"
    told = f"{interval['mean']:.4g}"
    if interval["low"] is None:
        told += ", of one drive, so without an interval"
    else:
        percent, known = 100.0 * content["confidence"], interval["count"]
        told += f", {percent:.0f} % interval {interval['low']:.4g} to {interval['high']:.4g} over {known} drives"
    if at_once := sum(one["kept"] is None and one["missed"] is not None for one in limit["limits"]):
        told += f"; missed at the mild end already in {at_once}"
    if limit["never"]:
        told += f"; met to the end in {limit['never']}, which count as {content['search']['second']:g}"
    return told + unknown


def search_lines(content: Mapping[str, Any]) -> Iterator[str]:
    """The report of a search for people."""
    search = content["search"]
    yield f"{content['name']}: {search['name']} from {search['first']:g} to {search['second']:g}"
    for limit in content["limits_found"]:
        yield f"  {limit['module']:<13} {limit_words(limit, content)}"
    for unit, modules in content["failed_first"].items():
        yield f"failed first in {unit}: {', '.join(modules) or 'no module of perception'}"
