"""The tables of docs/networks are those of the files that the measurements wrote."""

from __future__ import annotations

import pytest

from benchmarks.markdown_tables import marks
from benchmarks.networks.tables import DOCS, TABLES, filled


@pytest.mark.parametrize("page", TABLES)
def test_a_page_has_the_figures_of_its_files(page: str) -> None:
    text = (DOCS / page).read_text()
    assert any(marks(name)[0] in text for name in TABLES[page])
    assert filled(page, text) == text, "run `python -m benchmarks.networks.tables`"
