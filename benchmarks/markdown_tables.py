"""Tables in Markdown pages: rows as text, and the place between two marks that a command fills."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def rows(columns: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    """A Markdown table: one line of column names, then one line for each sequence of cells."""
    lines = [columns, ["---"] * len(columns), *cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def marks(name: str) -> tuple[str, str]:
    """The two lines of a page between which the table `name` stands."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def placed(page: str, name: str, table: str) -> str:
    """The page with `table` between the marks of `name`. Raises ValueError if a mark is missing."""
    begin, end = marks(name)
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"the page has no lines {begin} and {end}")
    return f"{before}{begin}\n\n{table}\n{end}{after}"
