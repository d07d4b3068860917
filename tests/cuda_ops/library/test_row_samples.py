"""Where warps wait, by the samples of each instruction that Nsight Compute took."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.gpu.library.row_counters import samples
from cuda_ops.library import records

NAMES = (
    "Address", "Source", "# Samples", "Instructions Executed", "L2 Theoretical Sectors Global",
    "L2 Theoretical Sectors Global Ideal", "stall_barrier", "stall_long_sb", "stall_long_sb (Not Issued)",
)  # fmt: skip
LINES = (
    ("LDGSTS.E.BYPASS.128 [R1], desc[UR4][R2.64]", 0, 8, 256, 128, 0, 0, 0),
    ("SYNCS.PHASECHK.TRANS64.TRYWAIT P6, [R98+URZ], R97", 1, 4, 0, 0, 0, 1, 1),
    ("LEA R19, R16, R19, 0x18", 0, 4, 0, 0, 0, 0, 0),
    ("@!P6  BRA 0x7fb37f7a6e90", 24, 4, 0, 0, 0, 24, 24),
    ("@!P6  BRA 0x7fb37f7a6f00", 5, 4, 0, 0, 0, 5, 5),
    ("FMNMX R46, R36, -INF , !PT", 60, 4, 0, 0, 0, 60, 60),
    ("@!P1  LDS.64 R12, [R58]", 10, 4, 0, 0, 10, 0, 0),
    ("@P0  STG.E.128 desc[UR4][R2.64], R4", 0, 4, 64, 64, 0, 0, 0),
)


def page(kernel: str) -> str:
    cells = [NAMES, *(("0x10", *map(str, line)) for line in LINES)]
    return "\n".join([f'"Kernel Name","{kernel}"', *(",".join(f'"{cell}"' for cell in line) for line in cells)])


def test_waits_for_a_cluster_are_told_from_those_for_the_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source, plan, out = tmp_path / "source.csv", tmp_path / "plan.json", tmp_path / "samples.json"
    source.write_text(page("void softmax_ahead<float, (int)4>(const T1 *, T1 *)") + "\n" + page("quack_kernel"))
    plan.write_text(json.dumps({"calls": [[{"contender": "v6"}, ["softmax_ahead"]], [{"contender": "quack"}, []]]}))
    monkeypatch.setattr(sys, "argv", ["samples", str(source), "--plan", str(plan), "--out", str(out)])
    samples.main()
    ours, quacks = records.read(out)["rows"]
    assert (ours["contender"], ours["kernel"]) == ("v6", "void softmax_ahead<float, (int)4>")
    assert (ours["samples"], ours["at_cluster_barriers_percent"]) == (100, 25.0)
    assert ours["waits_percent"] == {"long_sb": 90.0, "barrier": 10.0}
    assert ours["instructions_percent"][0] == ["FMNMX R46, R36, -INF , !PT", 60.0]
    assert ours["requests"] == {
        "LDGSTS.E.BYPASS.128": {"executed": 8, "sectors": 256, "fewest_sectors": 128},
        "STG.E.128": {"executed": 4, "sectors": 64, "fewest_sectors": 64},
    }
    assert quacks["contender"] == "quack"


def test_a_plan_of_other_kernels_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source, plan = tmp_path / "source.csv", tmp_path / "plan.json"
    source.write_text(page("void softmax_ahead<float, (int)4>(const T1 *, T1 *)"))
    plan.write_text(json.dumps({"calls": [[{"contender": "v6"}, ["norm_ahead"]]]}))
    monkeypatch.setattr(sys, "argv", ["samples", str(source), "--plan", str(plan), "--out", str(tmp_path / "out.json")])
    with pytest.raises(SystemExit, match="norm_ahead"):
        samples.main()
    assert not (tmp_path / "out.json").exists()
