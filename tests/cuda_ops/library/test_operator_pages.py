"""The operators' pages say what the ladders and the measured figures say."""

from __future__ import annotations

import pytest

from benchmarks.gpu.library import pages
from benchmarks.markdown_tables import placed
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import Ladder
from cuda_ops.runtime.compiler import PACKAGE


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: ladder.name)
def test_a_page_is_up_to_date(ladder: Ladder) -> None:
    assert (pages.PAGES / f"{ladder.name}.md").read_text() == pages.page(ladder, pages.read_figures())


def test_the_index_is_up_to_date() -> None:
    index = (pages.PAGES / "README.md").read_text()
    assert placed(index, pages.INDEX, pages.index_table()) == index


def test_the_ladders_name_all_kernels() -> None:
    named = {PACKAGE / f"{ladder.source(version)}.cu" for ladder in LADDERS for version in ladder.versions}
    assert named == set((PACKAGE / "library").glob("*/*.cu"))
    for ladder in LADDERS:
        assert [version.number for version in ladder.versions] == list(range(1, len(ladder.versions) + 1))
