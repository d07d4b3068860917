"""ROS 2 recordings, written by mcap-ros2-support: what runs, which topics are taken, and how a bad one ends."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from av_core.errors import ConfigError
from av_stack.foreign.kinds import Kind, kind_of
from av_stack.foreign.opening import SourceOptions, open_foreign
from av_stack.foreign.report import ForeignReport
from av_stack.foreign.session import ForeignOptions, replay_foreign
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.av_stack.foreign.clips import dashcam
from tests.av_stack.foreign.ros2_recordings import SPEED_MPS, Drive, write_bag, write_drive

pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed (the extra ros2)")
PICTURES = 30
TOPICS = "image: /front/image_raw\n"


@pytest.fixture(scope="module")
def drive(data_dir: Path) -> Drive:
    return Drive(dashcam(data_dir, PICTURES))


def replayed(path: Path, out: Path, options: SourceOptions | None = None) -> ForeignReport:
    return replay_foreign(open_foreign(path, Kind.ROS2, options or SourceOptions()), ForeignOptions(out))


def scenes(out: Path) -> list[dict[str, dict[str, float]]]:
    return [json.loads(line) for line in (out / "scenes.jsonl").read_text().splitlines()]


def test_topics_are_found_by_type_and_the_ego_is_localized(drive: Drive, tmp_path: Path) -> None:
    path, out = write_drive(tmp_path / "drive.mcap", drive), tmp_path / "out"
    done = av_stack("replay", str(path), "--out", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads((out / "result.json").read_text())
    assert result["pictures"] == PICTURES
    assert result["ran"] == ["health", "self-calibration", "lanes", "localization", "objects"]
    assert result["camera"]["fov_x_deg"] == pytest.approx(60.0, abs=0.1)
    assert min(result["left_line_share"], result["right_line_share"]) > 0.9
    assert "topics: image /front/image_raw, camera_info /front/camera_info, gnss /gps/fix, imu /imu/data" in done.stdout
    last = scenes(out)[-1]
    assert last["time_s"] == pytest.approx(0.04 * (PICTURES - 1))
    assert last["ego"]["speed_mps"] == pytest.approx(SPEED_MPS, abs=1.5)
    assert last["ego"]["x_m"] == pytest.approx(SPEED_MPS * 0.04 * (PICTURES - 1), abs=1.5)


def test_without_gnss_only_localization_is_left_out(drive: Drive, tmp_path: Path) -> None:
    path = write_drive(tmp_path / "drive.mcap", replace(drive, inputs=("camera_info", "imu"), encoding="jpeg"))
    report = replayed(path, tmp_path / "out")
    assert report.problem is None
    assert report.disabled["localization"].startswith("no GNSS;")
    assert report.ran == ("health", "self-calibration", "lanes", "objects")
    assert report.pictures == PICTURES


@pytest.mark.parametrize("chunks", ["ZSTD", "LZ4", "NONE"])
def test_each_compression_of_chunks_gives_the_same_pictures(drive: Drive, tmp_path: Path, chunks: str) -> None:
    few = replace(drive, pictures=drive.pictures[:4], chunks=chunks)
    source = open_foreign(write_drive(tmp_path / "drive.mcap", few), Kind.ROS2, SourceOptions())
    pictures = [frame.cameras["front"].bgr for frame in source.frames()]
    assert source.problem is None
    assert np.array_equal(pictures, few.pictures)


@pytest.mark.parametrize("packs_messages", [False, True])
def test_the_folder_of_a_split_bag_is_one_recording(drive: Drive, tmp_path: Path, packs_messages: bool) -> None:
    few = replace(drive, pictures=drive.pictures[:12])
    bag = write_bag(tmp_path / "bag", few, files=11, packs_messages=packs_messages)
    assert kind_of(bag) is Kind.ROS2
    source = open_foreign(bag, Kind.ROS2, SourceOptions())
    frames = list(source.frames())
    assert source.problem is None
    assert set(source.lacks) == {"wheels"}
    assert [frame.stamp.frame for frame in frames] == list(range(12))
    assert all(map(np.array_equal, (frame.cameras["front"].bgr for frame in frames), few.pictures))


def test_the_folder_of_a_bag_is_replayed_by_its_name(drive: Drive, tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", replace(drive, pictures=drive.pictures[:6], encoding="jpeg"), files=2)
    done = av_stack("replay", str(bag), "--out", str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "ROS 2 recording: 6 pictures, 0.20 s" in done.stdout


def test_a_split_bag_ends_at_the_file_that_is_cut_off(drive: Drive, tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", drive, files=3)
    second = bag / "bag_1.mcap"
    whole = second.read_bytes()
    second.write_bytes(whole[: len(whole) // 2])
    report = replayed(bag, tmp_path / "out")
    assert report.problem == "bag_1.mcap: the recording is cut off"
    assert 10 <= report.pictures <= 20


@pytest.mark.parametrize(
    ("name", "start", "message"),
    [
        ("bag_0.db3", b"SQLite format 3\0", "a ROS 2 bag in SQLite; expected MCAP: rosbags-convert"),
        ("bag_0.mcap.zstd", b"\x28\xb5\x2f\xfd", "compressed as a whole; unpack it first: zstd -d"),
    ],
)
def test_other_storages_of_a_bag_are_refused_with_what_to_do(
    tmp_path: Path, name: str, start: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(start + bytes(100))
    for path in (tmp_path, tmp_path / name):
        line = complaint(av_stack("replay", str(path)))
        assert line.startswith(f"av-stack: {tmp_path / name}: {message}")


def test_two_cameras_need_a_topics_file(drive: Drive, tmp_path: Path) -> None:
    few = replace(drive, pictures=drive.pictures[:6], second_camera=True, encoding="rgb8")
    path, topics = write_drive(tmp_path / "drive.mcap", few), tmp_path / "topics.yaml"
    topics.write_text(TOPICS)
    with pytest.raises(ConfigError, match=r"2 topics of pictures \(/front/image_raw, /rear/image_raw\); name one"):
        replayed(path, tmp_path / "out")
    assert replayed(path, tmp_path / "out", SourceOptions(topics=topics)).pictures == 6
    topics.write_text("image: /frnt/image_raw\n")
    with pytest.raises(ConfigError, match=r"no topic '/frnt/image_raw' .*did you mean /front/image_raw"):
        replayed(path, tmp_path / "out", SourceOptions(topics=topics))


def test_pictures_before_the_first_fix_are_left_out(drive: Drive, tmp_path: Path) -> None:
    path = write_drive(tmp_path / "drive.mcap", replace(drive, first_fix_s=0.4))
    report = replayed(path, tmp_path / "out")
    assert report.pictures == PICTURES - 10
    assert "10 pictures are before the first position and heading, and left out" in report.notes
    assert scenes(tmp_path / "out")[0]["ego"]["x_m"] == pytest.approx(0.0, abs=0.5)


def test_a_clock_that_jumps_back_ends_it_there(drive: Drive, tmp_path: Path) -> None:
    path = write_drive(tmp_path / "drive.mcap", replace(drive, jump_back_at=12))
    report = replayed(path, tmp_path / "out")
    assert report.pictures == 12
    assert report.problem == "the clock jumps back by 0.360 s at 0.440 s"


def test_a_cut_off_recording_is_played_as_far_as_it_goes(drive: Drive, tmp_path: Path) -> None:
    path, out = write_drive(tmp_path / "drive.mcap", drive), tmp_path / "out"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert complaint(av_stack("replay", str(path), "--out", str(out))) == f"av-stack: {path}: the recording is cut off"
    assert 10 <= json.loads((out / "result.json").read_text())["pictures"] <= 16


def test_a_calibration_for_another_size_is_refused(drive: Drive, tmp_path: Path) -> None:
    few = replace(drive, pictures=drive.pictures[:3], info_width_px=640)
    path = write_drive(tmp_path / "drive.mcap", few)
    with pytest.raises(ConfigError, match="pictures of 960x540 px, but their CameraInfo is for 640x540"):
        replayed(path, tmp_path / "out")


def test_a_recording_without_pictures_is_refused(drive: Drive, tmp_path: Path) -> None:
    path = write_drive(tmp_path / "drive.mcap", replace(drive, pictures=()))
    assert kind_of(path) is Kind.ROS2
    with pytest.raises(ConfigError, match="no topic of pictures"):
        replayed(path, tmp_path / "out")


def test_an_mcap_of_another_kind_is_refused(tmp_path: Path) -> None:
    from mcap.writer import Writer

    path = tmp_path / "other.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="", library="test")
        schema = writer.register_schema("Thing", "jsonschema", b"{}")
        channel = writer.register_channel("/thing", "json", schema)
        writer.add_message(channel, 1, b"{}", 1)
        writer.finish()  # type: ignore[no-untyped-call]
    assert "cannot be replayed: it lacks /replay/" in complaint(av_stack("replay", str(path)))
    topics = tmp_path / "topics.yaml"
    topics.write_text(TOPICS)
    line = complaint(av_stack("replay", str(path), "--topics", str(topics)))
    assert line == f"av-stack: {path}: no ROS 2 recording that can be read: it holds no messages in cdr"


def test_without_the_package_one_line_says_how_to_install_it(
    drive: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_drive(tmp_path / "drive.mcap", replace(drive, pictures=drive.pictures[:1]))
    monkeypatch.setitem(sys.modules, "mcap_ros2.decoder", None)
    with pytest.raises(ConfigError, match=r"needs mcap-ros2-support; in the project's folder run: .*\[ros2\]"):
        replayed(path, tmp_path / "out")
