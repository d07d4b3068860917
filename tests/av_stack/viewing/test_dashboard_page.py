"""The dashboard in a real Chromium, on a real drive of `av-stack dashboard`."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from av_stack.interruption import INTERRUPTED_STATUS
from av_stack.recording.recorder import RECORDING, RESULT
from tests.av_stack.chromium import opened_browser
from tests.av_stack.cli.test_bad_input import COMMAND, recorded_steps

WAIT_S = 60.0
"""Longest time for anything; a busy machine needs some of it to load the town."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as opened:
        yield opened


@dataclass
class Tab:
    """A page in the browser, and what its console said.

    It asks the page again and again instead of playwright's `wait_for_function`, which the page's own rule against
    foreign scripts (Content-Security-Policy) forbids.
    """

    page: Page
    errors: list[str] = field(default_factory=list)

    def open(self, url: str) -> None:
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(url)

    def wait_for(self, script: str) -> Any:
        """The value of `script` as soon as it is none of JavaScript's false ones."""
        deadline_s = time.monotonic() + WAIT_S
        while not (found := self.page.evaluate(script)):
            assert time.monotonic() < deadline_s, (script, self.page.inner_text("#status"), self.errors)
            time.sleep(0.05)
        return found

    def darkest_and_lightest(self, picture: str) -> tuple[int, int]:
        """The grey levels that a picture of the page spans."""
        script = """(id) => {
          const canvas = document.createElement('canvas');
          canvas.width = canvas.height = 32;
          const context = canvas.getContext('2d');
          context.drawImage(document.getElementById(id), 0, 0, 32, 32);
          const levels = context.getImageData(0, 0, 32, 32).data.filter((_, i) => i % 4 === 0);
          return [Math.min(...levels), Math.max(...levels)];
        }"""
        low, high = self.page.evaluate(script, picture)
        return low, high

    def inked_share(self, canvas: str) -> float:
        """The share of a canvas that something is drawn on."""
        script = """(id) => {
          const canvas = document.getElementById(id);
          const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          return data.filter((value, i) => i % 4 === 3 && value > 0).length / (data.length / 4);
        }"""
        return float(self.page.evaluate(script, canvas))


def started_dashboard(out: Path) -> tuple[subprocess.Popen[str], str]:
    """A drive with a dashboard, and the address that it prints."""
    command = [*COMMAND, "dashboard", "parked_car", "--oracle", "detection,lights", "--out", str(out)]
    drive = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert drive.stdout is not None
    for line in drive.stdout:
        if found := re.search(r"dashboard: (http://\S+)", line):
            return drive, found[1]
    raise AssertionError(drive.communicate())


def test_the_page_shows_a_drive_and_its_button_stops_the_car(browser: Browser, tmp_path: Path) -> None:
    drive, url = started_dashboard(tmp_path)
    with drive:
        stranger = browser.new_page()
        refused = stranger.goto(f"{url[:-1]}!")
        assert refused is not None
        assert refused.status == 403
        stranger.close()
        tab = Tab(browser.new_page(viewport={"width": 1440, "height": 980}))
        tab.open(url)
        tab.wait_for("dashboard.steps.length && dashboard.steps.at(-1).truth.speed_mps > 3.0")
        page = tab.page
        assert page.inner_text("#name") == "parked_car"
        assert page.inner_text("#status") == "normal"
        assert re.match(r"\d+ of \d+ m · \d+\.\d s", page.inner_text("#where"))
        for picture in ("front", "above"):
            low, high = tab.darkest_and_lightest(picture)
            assert high - low > 60
        for canvas in ("map", "speeds", "lateral", "controls"):
            assert tab.inked_share(canvas) > 0.005
        assert "planning" in page.inner_text("#timings")
        assert "front\tsends" in page.inner_text("#health")
        assert page.evaluate("dashboard.steps.at(-1).plan.speed_mps.length") > 3
        page.click("#stop")
        tab.wait_for("dashboard.steps.at(-1).topics['/supervision'].state === 'safe stop'")
        assert page.inner_text("#limits") == "safe stop: stop requested"
        assert page.is_disabled("#stop")
        assert (
            tab.wait_for("dashboard.isEnded && document.getElementById('status').textContent") == "ended: interrupted"
        )
        assert page.evaluate("dashboard.steps.at(-1).truth.speed_mps") < 0.3
        assert tab.errors == []
        _, errors = drive.communicate(timeout=WAIT_S)
    assert drive.returncode == INTERRUPTED_STATUS
    assert [line for line in errors.splitlines() if line.startswith("av-stack")] == ["av-stack: interrupted"]
    figures = json.loads((tmp_path / RESULT).read_text())
    assert (figures["end"], figures["error"]) == ("interrupted", "interrupted")
    assert recorded_steps(tmp_path / RECORDING) == figures["steps"]
    assert figures["supervision"]["states"][-1]["reason"] == "stop requested"
