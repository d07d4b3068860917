"""Videos and folders of pictures: what runs, what is written, and how a bad one ends."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import av
import cv2
import pytest

from av_core.errors import ConfigError
from av_stack.foreign.kinds import Kind, kind_of
from av_stack.foreign.opening import SourceOptions, open_foreign
from av_stack.foreign.report import ForeignReport
from av_stack.foreign.session import ForeignOptions, replay_foreign
from av_stack.report.make import write_report
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.av_stack.foreign.clips import dashcam, write_video
from tests.av_stack.foreign.conftest import PICTURES

LENS = "width_px: 960\nheight_px: 540\nfov_x_deg: 60.0\nheight_m: 1.2\n"


def replayed(path: Path, out: Path, options: SourceOptions | None = None) -> ForeignReport:
    return replay_foreign(open_foreign(path, kind_of(path), options or SourceOptions()), ForeignOptions(out))


def test_a_video_with_a_lens_file_is_perceived(clip: Path, tmp_path: Path) -> None:
    lens, out = tmp_path / "lens.yaml", tmp_path / "out"
    lens.write_text(LENS)
    done = av_stack("replay", str(clip), "--lens", str(lens), "--out", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    assert "disabled: localization: no GNSS and no IMU" in done.stdout
    assert "uncertain" not in done.stdout
    result = json.loads((out / "result.json").read_text())
    assert result["pictures"] == PICTURES
    assert result["ran"] == ["health", "self-calibration", "lanes", "objects"]
    assert set(result["disabled"]) == {"localization", "lights", "prediction", "planning", "control"}
    assert min(result["left_line_share"], result["right_line_share"]) > 0.9
    assert result["camera"]["pitch_deg"] == pytest.approx(-2.4, abs=0.3)
    assert result["tracks"]["car"] >= 3
    scenes = [json.loads(line) for line in (out / "scenes.jsonl").read_text().splitlines()]
    assert len(scenes) == PICTURES
    assert scenes[-1]["time_s"] == pytest.approx((PICTURES - 1) / 25)
    left, right = (scenes[-1]["lanes"][side]["coefficients"][0] for side in ("left", "right"))
    assert 3.2 < left - right < 4.0
    with av.open(str(out / "replay.mp4")) as video:
        assert sum(1 for _ in video.decode(video=0)) == PICTURES
    page = out / "report.html"
    assert "<li>localization: no GNSS and no IMU" in page.read_text()
    page.unlink()
    assert write_report(out) == page
    assert 'src="replay.mp4"' in page.read_text()


def test_without_a_lens_file_distances_are_said_to_be_uncertain(clip: Path, tmp_path: Path) -> None:
    report = replayed(clip, tmp_path)
    assert len(report.notes) == 1
    assert report.notes[0].startswith("distances are uncertain")
    assert "1.2 m" in report.notes[0]
    assert "60 degrees" in report.notes[0]


def test_a_given_pitch_is_not_calibrated_away(clip: Path, tmp_path: Path) -> None:
    lens = tmp_path / "lens.yaml"
    lens.write_text(f"{LENS}pitch_deg: -2.0\n")
    report = replayed(clip, tmp_path / "out", SourceOptions(lens))
    assert report.camera.pitch_deg == -2.0
    assert "self-calibration" in report.disabled


def test_a_lens_for_another_size_is_refused(clip: Path, tmp_path: Path) -> None:
    lens = tmp_path / "lens.yaml"
    lens.write_text(LENS.replace("960", "1280"))
    line = complaint(av_stack("replay", str(clip), "--lens", str(lens), "--out", str(tmp_path / "out")))
    assert line == f"av-stack: {clip}: pictures of 960x540 px, but the lens file is for 1280x540"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("fov_x_deg: 60.0\n", "width_px and height_px are missing"),
        (f"{LENS}focal_px: [800.0, 800.0]\n", "fov_x_deg and focal_px say the same"),
        (LENS.replace("height_m: 1.2", "height_m: -1.0"), "height_m: -1.0 is not allowed"),
        (f"{LENS}pich_deg: 1.0\n", "unknown key pich_deg (did you mean pitch_deg?)"),
    ],
)
def test_a_wrong_lens_file_names_the_key(clip: Path, tmp_path: Path, text: str, why: str) -> None:
    lens = tmp_path / "lens.yaml"
    lens.write_text(text)
    with pytest.raises(ConfigError, match=r"lens\.yaml") as error:
        open_foreign(clip, Kind.VIDEO, SourceOptions(lens))
    assert why in str(error.value)


def test_pictures_in_a_folder_are_played_in_order_of_their_numbers(data_dir: Path, tmp_path: Path) -> None:
    """As far as they fit: the last one has another size."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number, bgr in enumerate(dashcam(data_dir, 11)):
        cv2.imwrite(str(folder / f"frame{number}.png"), bgr if number < 10 else bgr[:500])
    assert kind_of(folder) is Kind.PICTURES
    report = replayed(folder, tmp_path / "out", SourceOptions(pictures_per_s=25.0))
    assert report.pictures == 10
    assert report.problem == "frame10.png: 960x500 px, the others have 960x540"
    scenes = (tmp_path / "out" / "scenes.jsonl").read_text().splitlines()
    assert [json.loads(line)["time_s"] for line in scenes] == pytest.approx([number / 25 for number in range(10)])


def test_a_calibrated_wide_angle_lens_is_taken_as_written(data_dir: Path, tmp_path: Path) -> None:
    """The lens file of `av-stack calibrate`, on one picture of that camera."""
    lens, folder = tmp_path / "lens.yaml", tmp_path / "pictures"
    assert av_stack("calibrate", str(data_dir / "calibration"), "--out", str(lens)).returncode == 0
    folder.mkdir()
    picture = data_dir / "lanes" / "advanced_straight_lines1.jpg"
    for number in range(8):
        (folder / f"{number}.jpg").write_bytes(picture.read_bytes())
    report = replayed(folder, tmp_path / "out", SourceOptions(lens))
    assert report.camera.fov_x_deg == pytest.approx(58.0, abs=3.0)
    assert min(report.left_line_share, report.right_line_share) > 0.5
    assert report.notes[0].endswith("assumed are the camera 1.2 m above the ground")


def test_a_variable_frame_rate_is_told_and_its_times_are_kept(data_dir: Path, tmp_path: Path) -> None:
    times = [0, 1, 2, 3, 4, 9, 10, 11]
    video = write_video(tmp_path / "variable.mp4", dashcam(data_dir, len(times)), times)
    report = replayed(video, tmp_path / "out")
    assert report.problem is None
    assert report.last_s == pytest.approx(11 / 25)
    assert any(note.startswith("variable frame rate: 0.040 s to 0.200 s") for note in report.notes)


def test_a_cut_off_video_is_played_as_far_as_it_goes(clip: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.mkv"
    with av.open(str(clip)) as source, av.open(str(cut), "w") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    whole = cut.read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    out = tmp_path / "out"
    line = complaint(av_stack("replay", str(cut), "--out", str(out)))
    assert "the video is cut off" in line
    assert 5 <= json.loads((out / "result.json").read_text())["pictures"] < PICTURES


def test_what_is_no_video_is_refused(clip: Path, tmp_path: Path) -> None:
    half, empty, sound = tmp_path / "half.mp4", tmp_path / "empty.mp4", tmp_path / "sound.wav"
    half.write_bytes(clip.read_bytes()[:20000])
    empty.write_bytes(b"")
    with av.open(str(sound), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame(format="s16", layout="mono", samples=800)
        frame.rate = 8000
        container.mux(stream.encode(frame))
    for path, why in ((half, "cannot be read as a video"), (empty, "cannot be read as a video"), (sound, "no video")):
        with pytest.raises(ConfigError, match=f"{path.name}: {why}"):
            open_foreign(path, Kind.VIDEO, SourceOptions())


def test_a_full_disk_keeps_what_it_took(clip: Path, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (130_000, before[1]))  # above the space that the result reserves
    try:
        report = replayed(clip, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert report.problem is not None
    assert "written" in report.problem
    assert report.pictures < PICTURES
    assert json.loads((tmp_path / "result.json").read_text())["problem"] == report.problem
    with av.open(str(tmp_path / "replay.mp4")) as video:
        assert 0 < sum(1 for _ in video.decode(video=0)) < PICTURES


def test_comparing_has_nothing_to_compare_with(clip: Path) -> None:
    assert "--diff: " in complaint(av_stack("replay", str(clip), "--diff"))
