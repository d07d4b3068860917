"""Recording, video and result of a drive are complete on the disk at any time, also on a disk that fills."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import av
import foxglove
import numpy as np
import pytest
from mcap.reader import McapReader, make_reader
from mcap.records import Footer
from mcap.stream_reader import StreamReader

from av_core.errors import AvStackError, ConfigError
from av_stack.recording.mcap_file import McapFile
from av_stack.recording.recorder import RESULT, DriveFolder
from av_stack.recording.repair import open_recording, repair
from av_stack.recording.video import VideoWriter
from av_stack.recording.writer import Recording

TOPICS = ("/a", "/b")
STEPS_PER_COMMIT = 5
DATA_END_BYTES = 13


@contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """Writing beyond `size_bytes` of a file fails, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Writer:
    """Writes steps of two messages each as `Recording` does, without needing a drive."""

    def __init__(self, path: Path) -> None:
        self._context = context = foxglove.Context()
        self._file = McapFile(path)
        self._writer = foxglove.open_mcap(self._file, context=context)
        self._writer.write_metadata("run", {"scenario": "none"})
        self._channels = [foxglove.Channel(topic, message_encoding="json", context=context) for topic in TOPICS]
        self._steps = 0
        self.commit()

    def commit(self) -> None:
        self._writer.flush()
        self._file.commit()

    def write(self, steps: int) -> None:
        noise = np.random.default_rng(1)
        for _ in range(steps):
            for channel in self._channels:
                channel.log({"noise": noise.bytes(500).hex()}, log_time=self._steps * 50_000_000)
            self._steps += 1
            if self._steps % STEPS_PER_COMMIT == 0:
                self.commit()


def records_end(path: Path) -> int:
    """The byte behind the last record before DataEnd."""
    with path.open("rb") as file:
        footer = list(StreamReader(file).records)[-1]
    assert isinstance(footer, Footer)
    return footer.summary_start - DATA_END_BYTES


def reader(file: IO[bytes]) -> McapReader:
    file.seek(0)
    return make_reader(file, validate_crcs=True)


def messages(path: Path) -> int:
    """The number of messages that strict readers find, by the index, by topic and from beginning to end."""
    with path.open("rb") as file:
        indexed = sum(1 for _ in reader(file).iter_messages())
        by_topic = sum(1 for _ in reader(file).iter_messages(topics=["/b"]))
        summary = reader(file).get_summary()
        assert summary is not None
        assert summary.statistics is not None
        assert [record.metadata for record in reader(file).iter_metadata()] == [{"scenario": "none"}]
        file.seek(0)
        records = list(StreamReader(file, validate_crcs=True).records)
    in_order = sum(1 for record in records if type(record).__name__ == "Message")
    assert indexed == in_order == 2 * by_topic == summary.statistics.message_count
    return indexed


def test_a_recording_is_complete_after_every_commit(tmp_path: Path) -> None:
    path, copy = tmp_path / "recording.mcap", tmp_path / "copy.mcap"
    writer = Writer(path)
    for steps in range(12):
        copy.write_bytes(path.read_bytes())
        assert messages(copy) == len(TOPICS) * (steps - steps % STEPS_PER_COMMIT)
        assert not repair(copy).is_needed
        writer.write(1)


def test_a_recording_keeps_what_a_full_disk_took(tmp_path: Path) -> None:
    path = tmp_path / "recording.mcap"
    writer = Writer(path)
    writer.write(20)
    with files_of_at_most(path.stat().st_size + 2000), pytest.raises(OSError, match="File too large"):
        writer.write(STEPS_PER_COMMIT)
    assert messages(path) == len(TOPICS) * 20


def test_a_disk_without_any_space_is_told_at_once_and_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "recording.mcap"
    with files_of_at_most(0), pytest.raises(AvStackError, match="the recording cannot be written: File too large"):
        Recording(path, {"scenario": "none"})
    assert not path.exists()


def test_a_closed_recording_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "recording.mcap"
    Recording(path, {"scenario": "none"}).close()
    assert messages(path) == 0


def test_a_recording_cut_anywhere_is_repaired_up_to_its_last_whole_chunk(tmp_path: Path) -> None:
    path, cut = tmp_path / "recording.mcap", tmp_path / "cut.mcap"
    writer = Writer(path)
    ends = []  # of the file's records, after each commit
    for _ in range(6):
        ends.append(records_end(path))
        writer.write(STEPS_PER_COMMIT)
    whole, size = path.read_bytes(), records_end(path)
    rng = np.random.default_rng(7)
    for length in [int(n) for n in rng.integers(ends[0], size, 40)] + ends[1:]:
        cut.write_bytes(whole[:length])
        done = repair(cut)
        commits = sum(1 for end in ends[1:] if end <= length)
        kept = messages(cut)
        assert done.is_needed
        assert kept in (len(TOPICS) * STEPS_PER_COMMIT * n for n in (commits, commits + 1))  # a chunk without its index
        assert not repair(cut).is_needed


def test_reading_repairs_a_copy_and_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "recording.mcap"
    writer = Writer(path)
    writer.write(20)
    cut = path.read_bytes()[: records_end(path) - 100]
    path.write_bytes(cut)
    with open_recording(path) as file:
        assert sum(1 for _ in make_reader(file).iter_messages()) == len(TOPICS) * 20
    assert path.read_bytes() == cut


def test_a_write_that_was_cut_short_over_the_old_ending_is_noticed(tmp_path: Path) -> None:
    """The file still ends with the old footer, but what it points to has been overwritten."""
    path = tmp_path / "recording.mcap"
    writer = Writer(path)
    writer.write(STEPS_PER_COMMIT)
    before, at = path.read_bytes(), records_end(path)
    writer.write(STEPS_PER_COMMIT)
    path.write_bytes(before[:at] + path.read_bytes()[at : at + 300] + before[at + 300 :])
    assert repair(path).is_needed
    assert messages(path) == len(TOPICS) * STEPS_PER_COMMIT


@pytest.mark.parametrize("content", [b"", b"no recording", b"\x00\x00\x00\x18ftypisom"])
def test_what_cannot_be_repaired_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=str(path)):
        repair(path)
    assert path.read_bytes() == content


def pictures(path: Path) -> int:
    with av.open(str(path)) as video:
        return sum(1 for _ in video.decode(video=0))


def noise(number: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.random.default_rng(number).integers(0, 255, (90, 160, 3), dtype=np.uint8)


def test_a_video_plays_up_to_its_last_fragment_wherever_it_is_cut(tmp_path: Path) -> None:
    path, cut = tmp_path / "drive.mp4", tmp_path / "cut.mp4"
    video = VideoWriter(path, 160, 90, 10)
    for number in range(32):
        video.write(noise(number))
    video.close()
    assert pictures(path) == 32
    assert not repair(path).is_needed
    whole = path.read_bytes()
    for share in (0.3, 0.5, 0.9):
        cut.write_bytes(whole[: int(share * len(whole))])
        assert repair(cut).is_needed
        assert abs(pictures(cut) - share * 32) <= 6  # fragments of 5 pictures
        assert not repair(cut).is_needed


def test_a_video_keeps_what_a_full_disk_took(tmp_path: Path) -> None:
    path = tmp_path / "drive.mp4"
    with files_of_at_most(100_000):
        video = VideoWriter(path, 160, 90, 10)
        with pytest.raises(AvStackError, match=r"drive.mp4: the video cannot be written: File too large"):
            fill(video)
        with pytest.raises(AvStackError):
            video.close()
    assert 0 < pictures(path) < 200
    assert not repair(path).is_needed


def fill(video: VideoWriter) -> None:
    for number in range(500):
        video.write(noise(number))


def test_a_result_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with DriveFolder(tmp_path) as folder:
        folder.write_result({"steps": 3})
        with pytest.raises(TypeError):
            folder.write_result({"steps": object()})
    assert json.loads((tmp_path / RESULT).read_text()) == {"steps": 3}
    assert [path.name for path in tmp_path.iterdir()] == [RESULT]
