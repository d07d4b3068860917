"""Suggests the name that a user probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SIMILARITY_MIN = 0.65
"""Ratio of `difflib.SequenceMatcher` from which two names count as similar."""


def similar(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """Up to `limit` names of `known` that resemble `name`, best first; upper and lower case count as equal."""
    by_lower = {entry.lower(): entry for entry in known}
    found = difflib.get_close_matches(name.lower()[:200], by_lower, n=limit, cutoff=SIMILARITY_MIN)
    return [by_lower[entry] for entry in found]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " (did you mean X?)" for an error message; empty where no name of `known` resembles `name`."""
    found = similar(name, known)
    return f" (did you mean {found[0]}?)" if found else ""
