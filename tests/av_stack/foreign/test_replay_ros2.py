"""ROS 2 recordings, written by mcap-ros2-support: what runs, which topics are taken, and how a bad one ends."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from av_core.errors import ConfigError
from av_stack.foreign.kinds import Kind, kind_of
from av_stack.foreign.opening import SourceOptions, open_foreign
from av_stack.foreign.report import ForeignReport
from av_stack.foreign.session import ForeignOptions, replay_foreign
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.av_stack.foreign.clips import dashcam
from tests.av_stack.foreign.ros2_recordings import SPEED_MPS, Drive, write_drive

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
