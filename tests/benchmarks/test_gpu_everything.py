"""`make bench-gpu` shares out its time, says what it left out, and puts whole records of an H200 in their places."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from benchmarks.gpu import effort, everything, placing, sanitize
from benchmarks.gpu.everything import EFFORT_MIN, Part


def test_parts_get_what_they_need_and_no_more_than_the_time() -> None:
    first, second = Part("first", "", "", 100.0, 50.0), Part("second", "", "", 40.0, 20.0)
    assert everything.share_of(first, [second], 1000.0) == 100.0
    assert everything.share_of(first, [second], 105.0) == pytest.approx(75.0)  # half of what is more than the least
    assert everything.share_of(first, [second], 60.0) == pytest.approx(60.0)  # the second one does not fit
    assert everything.share_of(first, [second], 30.0) == 30.0


def test_the_whole_time_suffices_for_all_repetitions() -> None:
    seconds = 60.0 * everything.FULL_MINUTES
    assert everything.rest_of(everything.parts(""), seconds) == 1.0
    assert [part.name for part in everything.fitting(everything.parts(""), 360.0)][-1] == "operator library"


def test_what_fails_or_ends_late_is_named_and_costs_no_other_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    programs = {"fails": "raise SystemExit(3)", "late": "import time; time.sleep(60)", "good": "print('measured')"}
    monkeypatch.setattr(Part, "command", lambda self, out, seconds: [sys.executable, "-c", programs[self.name]])
    chosen = [Part(name, "", "", full, full / 2.0) for name, full in (("fails", 1.0), ("good", 1.0), ("late", 1.0))]
    monkeypatch.setattr(everything, "START_S", 0.5)
    found = everything.run(chosen, tmp_path, 3.0)
    assert [line.rpartition(" after ")[0] for line in found] == [
        "failed: fails: status 3",
        "left out: the rest of late: the time was over",
    ]
    assert "measured" in capfd.readouterr().out


def test_effort_is_a_share_of_the_repetitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(effort.VARIABLE, raising=False)
    assert effort.repeats(15) == 15
    monkeypatch.setenv(effort.VARIABLE, str(EFFORT_MIN))
    assert [effort.repeats(15), effort.repeats(15, 5), effort.repeats(2, 1), effort.repeats(2)] == [3, 5, 1, 2]
    monkeypatch.setenv(effort.VARIABLE, "often")
    with pytest.raises(SystemExit, match="wanted is a share"):
        effort.repeats(15)


@pytest.mark.parametrize(
    ("figures", "why"),
    [
        ({"machine": {"gpu": placing.GPU}, "left_out": [{"case": "shapes of add"}]}, ""),
        ({"gpu": placing.GPU, "left_out": ["softmax"]}, "leaves out 1 cases"),
        ({"gpu": placing.GPU, "errors": ["group 1: lost"]}, "has 1 errors"),
        ({"gpu": "NVIDIA H100"}, "is of NVIDIA H100, the pages are of NVIDIA H200s"),
    ],
)
def test_a_record_replaces_another_if_it_is_whole_and_of_the_same_gpu(figures: dict[str, Any], why: str) -> None:
    assert placing.why_not(figures) == why


def test_records_have_places_that_exist() -> None:
    assert [name for name, target in placing.PLACES.items() if not target.is_file()] == []


def test_fewer_than_no_minutes_are_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.gpu.everything", "--minutes", "0", "--out", str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr.strip()) == (1, "bench-gpu: 0.0 minutes are too few")


SANITIZED = "print('========= ERROR SUMMARY: 0 errors'); print('sanitize came to its end')"


def test_a_sanitizer_that_finds_something_or_does_not_end_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    programs = {
        "memcheck": SANITIZED,
        "racecheck": f"{SANITIZED}; raise SystemExit(1)",
        "initcheck": "print('========= ERROR SUMMARY: 0 errors')",
    }
    monkeypatch.setattr(sanitize.Share, "command", lambda self: [sys.executable, "-c", programs[self.tool]])
    chosen = [
        sanitize.Share("memcheck", 0, 1),
        sanitize.Share("racecheck", 1, 2),
        sanitize.Share("initcheck", 0, 1),
    ]
    found = sanitize.run(chosen, tmp_path)
    assert found == ["racecheck, 2 of 2: status 1", "initcheck: it did not come to its end"]
    assert "test-gpu: memcheck: ERROR SUMMARY: 0 errors" in capfd.readouterr().out


def test_each_case_of_the_library_is_in_one_share() -> None:
    cases = sanitize.cases_of(0, 1)
    parts = [sanitize.cases_of(number, 4) for number in range(4)]
    assert sorted(case.title() for part in parts for case in part) == sorted(case.title() for case in cases)
    assert min(map(len, parts)) > 10


def test_a_foreign_folder_of_the_environment_is_not_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUT", "/elsewhere")
    root = Path(everything.__file__).parents[2]
    for given, wanted in (((), "--out out/bench"), (("OUT=there",), "--out there/bench")):
        answer = subprocess.run(
            ["make", "-n", "bench-gpu", *given], cwd=root, capture_output=True, text=True, check=True
        )
        assert wanted in answer.stdout
