"""A short piece of the dashcam video."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.av_stack.foreign.clips import dashcam, write_video

PICTURES = 30


@pytest.fixture(scope="session")
def clip(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_video(tmp_path_factory.mktemp("clip") / "clip.mp4", dashcam(data_dir, PICTURES))
