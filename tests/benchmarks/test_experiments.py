"""The experiment report agrees with the result files."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import experiments
from benchmarks.experiments import EXPERIMENTS, PAGE, filled, read


def test_every_table_of_the_page_is_what_its_files_give() -> None:
    page = PAGE.read_text()
    assert filled(page) == page, "run: make experiments"


def test_a_figure_that_changes_in_its_file_changes_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(name: str) -> Any:
        content = read(name)
        if name == "perception/closed_loop.json":
            content["closed_loop_steps_per_s"] += 1.0
        return content

    page = PAGE.read_text()
    monkeypatch.setattr(experiments, "read", changed)
    assert filled(page) != page


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: str(one.mark))
def test_a_page_that_lacks_a_table_is_refused(experiment: experiments.Experiment) -> None:
    page = PAGE.read_text().replace(f"<!-- {experiment.mark}: begin -->", "")
    with pytest.raises(ValueError, match=experiment.mark):
        filled(page)
