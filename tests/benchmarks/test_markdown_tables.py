"""Tables in Markdown pages."""

from __future__ import annotations

import pytest

from benchmarks.markdown_tables import marks, placed, rows


def test_a_table_has_a_line_of_names_and_a_line_for_each_row() -> None:
    assert rows(("town", "score"), [("Town01", "70.0")]) == "| town | score |\n| --- | --- |\n| Town01 | 70.0 |\n"


def test_the_table_replaces_what_stands_between_the_marks() -> None:
    begin, end = marks("verdicts")
    page = f"before\n{begin}\nold\n{end}\nafter\n"
    assert placed(page, "verdicts", "| new |\n") == f"before\n{begin}\n\n| new |\n\n{end}\nafter\n"
    with pytest.raises(ValueError, match="has no lines"):
        placed(page, "another", "")
