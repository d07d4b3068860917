"""No name from the wire leads out of the folder of recordings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded_carla.errors import CommandError
from embedded_carla.recorder.folder import FOLDER_VARIABLE, RecordingFolder, default_folder


@pytest.fixture
def folder(tmp_path: Path) -> RecordingFolder:
    (tmp_path / "inside").mkdir()
    return RecordingFolder(tmp_path / "inside")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("drive.log", "drive.log"),
        ("/elsewhere/records/drive.log", "drive.log"),
        ("./records/drive.log", "drive.log"),
        ("../../etc/passwd", "passwd"),
        ("c:\\records\\drive.log", "drive.log"),
        ("no suffix", "no suffix"),
    ],
)
def test_the_last_part_of_a_name_counts(folder: RecordingFolder, name: str, file: str) -> None:
    assert folder.path(name) == folder.folder / file


def test_a_path_into_the_folder_is_taken_as_it_is(folder: RecordingFolder) -> None:
    assert folder.path(str(folder.folder / "town" / "drive.log")) == folder.folder / "town" / "drive.log"
    assert folder.path(f"{folder.folder}/../secret.log") == folder.folder / "secret.log"


@pytest.mark.parametrize("name", ["", ".", "..", "a/..", "/", "x\0y", "line\nbreak", "a" * 300, "c:"])
def test_names_that_are_none_are_refused_in_one_line(folder: RecordingFolder, name: str) -> None:
    with pytest.raises(CommandError, match="names no recording") as caught:
        folder.path(name)
    assert "\n" not in str(caught.value)


def test_links_do_not_lead_out(folder: RecordingFolder, tmp_path: Path) -> None:
    folder.folder.mkdir(exist_ok=True)
    (tmp_path / "secret.log").write_text("secret")
    (folder.folder / "link.log").symlink_to(tmp_path / "secret.log")
    (folder.folder / "sub").mkdir()
    with pytest.raises(CommandError, match="leads out"):
        folder.path("link.log")
    with pytest.raises(CommandError, match=r"leads out of .* or is not a file"):
        folder.path("sub")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.sampled_from("ab./\\: \0\n~"), max_size=12) | st.text(max_size=30))
def test_every_name_stays_inside_or_is_refused(folder: RecordingFolder, name: str) -> None:
    try:
        path = folder.path(name)
    except CommandError:
        return
    assert path.resolve().is_relative_to(folder.folder.resolve())
    assert path.name not in ("", ".", "..")


def test_the_folder_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv(FOLDER_VARIABLE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "embedded_carla" / "recordings"
