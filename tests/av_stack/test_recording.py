"""A recording that cannot be written says so, once, and does not hold up who writes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcap.reader import make_reader

from av_stack.errors import AvStackError
from av_stack.recording.kept_file import KeptFile
from av_stack.recording.writer import Recording

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_told_once(capfd: pytest.CaptureFixture[str]) -> None:
    recording = Recording(FULL, {"scenario": "none"})
    with pytest.raises(AvStackError, match="/dev/full: the recording cannot be written: No space left on device"):
        recording.close()
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(not FULL.exists(), reason="needs Linux's /dev/full")
def test_a_file_keeps_its_first_error_and_takes_no_more() -> None:
    file = KeptFile(FULL)
    for _ in range(100):
        assert file.write(bytes(1000)) == 1000
    file.flush()
    error = file.take_error()
    assert isinstance(error, OSError)
    assert file.take_error() is None
    file.write(bytes(100_000))
    file.close()
    assert file.take_error() is None


def test_a_closed_recording_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "recording.mcap"
    Recording(path, {"scenario": "none"}).close()
    with path.open("rb") as file:
        assert [record.metadata for record in make_reader(file).iter_metadata()] == [{"scenario": "none"}]
