"""Every command of the README and of the other pages is one that the command line takes, with names that exist."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from av_core.errors import ConfigError
from av_stack.cli import app
from av_stack.world.carla.weather import weather_presets
from benchmarks.tour import README, ROOT, Line, blocks, main, tour
from scenarios.model import load_scenario
from scenarios.suites import SUITES
from sim_configs.load import load_weather

PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
TOUR = ["drive", "replay", "branch", "weather", "suite", "view", "train", "bench"]
OPERATORS = ("&&", "||", ";", "|", ">", "<", "&")


def commands(text: str) -> Iterator[list[str]]:
    """The words of each `av-stack ...` of a page's shell blocks."""
    for block in blocks(text):
        for line in block:
            words: list[str] = []
            for word in [*shlex.split(line, comments=True), ";"]:
                if word not in OPERATORS:
                    words.append(word)
                    continue
                if Path(words[0]).name == "av-stack" if words else False:
                    yield words[1:]
                words = []


@cache
def command_line() -> Any:
    return typer.main.get_command(app)


def parsed(words: list[str]) -> Any:
    """The context of the command that these words run, which is not run. Raises TyperException for wrong ones.

    The options that install or show the completion would be carried out by the parser, and write to the user's shell.
    """
    if words[:1] in (["--install-completion"], ["--show-completion"]):
        raise typer.Exit
    context = command_line().make_context("av-stack", list(words))
    while hasattr(context.command, "resolve_command"):
        name, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)
    return context


def check_names(context: Any) -> None:
    """Raises ConfigError where a scenario, a suite or a weather does not exist; placeholders of files pass."""
    for parameter, value in context.params.items():
        if not isinstance(value, str) or re.search(r"[./]", value) or value in ("out", ""):
            continue
        if parameter == "scenario" and value not in SUITES:
            load_scenario(value)
        elif parameter == "suite" and value not in (*SUITES, "random"):
            raise ConfigError(f"unknown suite {value}")
        elif parameter == "weather":
            load_weather(value, weather_presets())


def test_every_command_of_every_page_is_one() -> None:
    wrong = []
    for page in PAGES:
        for words in commands(page.read_text()):
            try:
                check_names(parsed(words))
            except typer.Exit:
                continue  # --version, --help
            except (typer.TyperException, ConfigError) as error:
                wrong.append(f"{page.relative_to(ROOT)}: av-stack {' '.join(words)}: {error}")
    assert wrong == []


def test_the_readme_has_commands() -> None:
    assert len(list(commands(README.read_text()))) > 25


def test_a_wrong_command_would_be_found() -> None:
    with pytest.raises(typer.TyperException):
        parsed(["run", "town_drive", "--recorded", "exact"])


def test_the_tour_has_its_eight_lines() -> None:
    lines = tour(README.read_text())
    assert [line.name for line in lines] == TOUR
    assert all(" tour/" in line.command for line in lines)


def test_a_tour_is_run_as_written_and_goes_on_where_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "## A tour\n\n```sh\nmkdir tour && echo one >> tour/said   # first\n"
        "cat \\\n    tour/missing # second: fails\nav-stack --version # third\n```\n"
    )
    monkeypatch.setattr("benchmarks.tour.README", page)
    monkeypatch.setattr("sys.argv", ["tour", "--out", str(tmp_path / "out")])
    assert tour(page.read_text())[1] == Line("second", "cat tour/missing")
    assert main() == 1
    assert "cat: tour/missing: No such file or directory" in capsys.readouterr().out
    (tmp_path / "out" / "run" / "tour" / "missing").write_text("here\n")
    assert main() == 0
    assert (tmp_path / "out" / "run" / "tour" / "said").read_text() == "one\n"
    assert "2/3 second" in capsys.readouterr().out


def test_a_short_real_tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of a tour find this tree's av-stack, and the files of the lines before them."""
    page, kept = tmp_path / "page.md", ROOT / "tests" / "av_stack" / "replay" / "kept" / "city.mcap"
    page.write_text(
        f"## A tour\n\n```sh\nmkdir tour && cp {kept} tour/recording.mcap # drive\n"
        "av-stack replay tour --html tour/replay.html --json tour/replay.json # replay\n```\n"
    )
    monkeypatch.setattr("benchmarks.tour.README", page)
    monkeypatch.setattr("sys.argv", ["tour", "--out", str(tmp_path / "out")])
    assert main() == 0
    files = {path.name for path in (tmp_path / "out" / "run" / "tour").iterdir()}
    assert files == {"recording.mcap", "replay.html", "replay.json"}
    table = json.loads((tmp_path / "out" / "tour.json").read_text())
    assert [line["status"] for line in table["lines"]] == [0, 0]
