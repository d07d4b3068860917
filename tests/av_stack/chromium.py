"""The browser that the tests of the project's pages use."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip


def find_chromium() -> str | None:
    """A Chromium that starts; Ubuntu's `chromium-browser` is a script that only asks for a snap."""
    for path in filter(None, map(shutil.which, NAMES)):
        try:
            done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60.0, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and "snap" not in done.stdout:
            return path
    return None


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """A Chromium; without one the test is skipped."""
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium here; Debian has it as the package chromium, and `scripts/setup.sh dev` installs that")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield opened
        opened.close()
