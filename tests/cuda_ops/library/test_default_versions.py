"""The version that runs by default is nearly the fastest one of the newest run, for every recorded case."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from statistics import geometric_mean, median
from typing import Any

import pytest

from benchmarks.gpu.library import agreement, all_goals, report
from benchmarks.gpu.library.goals import ROWS, default_version
from benchmarks.gpu.library.pages import AGAIN, H200, LATER, PAGES, PRODUCTS, newest, read_below, read_runs
from benchmarks.gpu.library.shapes import shapes_of
from cuda_ops.library import records
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import ALL_ELEMENTS, PACK_BYTES, Problem
from cuda_ops.library.recorder import record

SLOWER_MAX = 1.1
LESS_EXACT = {"matmul_parts": ("v1",), "matmul_fp8": ("v1",)}
"""Versions that are no default however fast they are: their errors grow with the depth."""
NAMES = ("operator", "element", "rows", "columns", "depth", "transposed")
SIZES = {element.name: element.size_bytes for element in ALL_ELEMENTS}
LATER_DEFAULTS = ("softmax", "log_softmax", "layer_norm", "rms_norm")
"""Operators whose version 6 came after the launch shapes were tried."""
Case = tuple[Any, ...]
"""What a row has of `NAMES`; a depth is a product's alone."""


def readme() -> str:
    return " ".join((PAGES / "README.md").read_text().split())


def case_of(row: dict[str, Any]) -> Case:
    of_product = (row["depth"], row.get("transposed", "")) if "depth" in row else ()
    return (*(row[name] for name in NAMES[:4]), *of_product)


def times_us(run: dict[str, Any]) -> dict[Case, dict[str, float]]:
    """The times of a run by case and version: "v2".

    A version's launch shape may have changed since its row was written. Then the sweep's time of the new shape counts.
    """
    found: dict[Case, dict[str, float]] = {}
    for row in run["rows"]:
        if row["contender"].startswith("v") and row["median_us"] is not None:
            found.setdefault(case_of(row), {})[row["contender"]] = row["median_us"]
    for row in run["sweep"]:
        version = version_with_shape(row)
        if version is not None and row["median_us"] is not None:
            found[case_of(row)][version] = row["median_us"]
    return found


def version_with_shape(row: dict[str, Any]) -> str | None:
    """The version that runs the row's case in the row's launch shape; None if none does."""
    ladder = next(ladder for ladder in LADDERS if ladder.name == row["operator"])
    element = next(element for element in ALL_ELEMENTS if element.name == row["element"])
    problem = Problem(element, row["rows"], row["columns"], PACK_BYTES // element.size_bytes, 90)
    for shape in shapes_of(ladder, problem):
        if shape.title == row["shape"] and shape.version.can_run(problem):
            tried = record(ladder, replace(shape.version, launch=shape.launch), problem)
            if tried == record(ladder, shape.version, problem):
                return f"v{shape.version.number}"
    return None


def slow_defaults(run: dict[str, Any]) -> list[str]:
    """One line for each case whose default version took more than `SLOWER_MAX` times the fastest one's time."""
    found = []
    for case, times in times_us(run).items():
        default = default_version(dict(zip(NAMES, case, strict=False)))
        if default not in times:  # a version that came after this run
            continue
        as_exact = {name: time for name, time in times.items() if name not in LESS_EXACT.get(case[0], ())}
        fastest = min(as_exact, key=as_exact.__getitem__)
        if times[default] > SLOWER_MAX * times[fastest]:
            found.append(f"{case}: {default} took {times[default]:.0f} us, {fastest} {times[fastest]:.0f} us")
    return found


@pytest.mark.parametrize("name", newest(read_runs()))
def test_no_default_is_much_slower_than_the_fastest_version(name: str) -> None:
    run = read_runs()[name]
    assert len(times_us(run)) >= 60
    assert slow_defaults(run) == []


@pytest.mark.parametrize(("name", "run"), (read_below(LATER) | read_below(PRODUCTS) | read_below(H200)).items())
def test_a_default_of_a_run_of_its_own_is_nearly_the_fastest(name: str, run: dict[str, Any]) -> None:
    times = times_us(run | {"sweep": []})
    with_several = {ladder.name for ladder in LADDERS if len(ladder.versions) > 1} & {case[0] for case in times}
    assert {case[0] for case, found in times.items() if len(found) > 1} == with_several
    assert slow_defaults(run | {"sweep": []}) == []


@pytest.mark.parametrize("architecture", [75, 80, 90, 100])
def test_the_default_can_run_rows_of_any_length(architecture: int) -> None:
    """Where a rule goes over to another version, and next to that, with packs of any size."""
    lengths = [(1 << power) + more for power in range(5, 21) for more in (-1, 0, 1)]
    for ladder in (one for one in LADDERS if not one.is_product and not one.is_flat):
        for element in ladder.elements:
            packs = [lanes for lanes in (1, 2, 4, 8) if lanes * element.size_bytes <= PACK_BYTES]
            for columns, lanes in product(lengths, packs):
                if columns % lanes == 0:
                    problem = Problem(element, 3, columns, lanes, architecture)
                    assert ladder.choose(problem).can_run(problem)


@pytest.mark.parametrize("name", newest(read_runs()))
def test_a_retimed_version_has_the_shape_and_the_time_of_the_sweep(name: str) -> None:
    run = read_runs()[name]
    swept = {(*case_of(row), row["shape"]): row for row in run["sweep"]}
    assert len(run["retimed"]) > 10
    for row in run["retimed"]:
        assert row["median_us"] == swept[(*case_of(row), row["shape"])]["median_us"]
        assert version_with_shape(row) == row["contender"]


def test_a_slow_default_is_found() -> None:
    case = {"operator": "softmax", "element": "float32", "rows": 65536, "columns": 1024}
    times = {"v1": 231.0, "v2": 160.0, default_version(case): 184.0}
    run = {"rows": [case | {"contender": name, "median_us": time} for name, time in times.items()], "sweep": []}
    assert slow_defaults(run) == ["('softmax', 'float32', 65536, 1024): v4 took 184 us, v2 160 us"]


def test_the_sweep_counts_for_the_launch_shape_of_today() -> None:
    case = {"operator": "softmax", "element": "float32", "rows": 16384, "columns": 4096}
    rows = [case | {"contender": "v4", "median_us": 184.0}]
    sweep = [
        case | {"shape": shape, "median_us": time}
        for shape, time in (("1 x 256 threads, 4 packs", 170.0), ("1 x 512 threads, 2 packs", 160.0))
    ]
    assert times_us({"rows": rows, "sweep": sweep}) == {("softmax", "float32", 16384, 4096): {"v4": 170.0}}


def test_another_gpu_has_judged_the_defaults() -> None:
    """docs/performance-report.md counts the cases whose default is at most 3 % slower than the fastest version."""
    text = (AGAIN / "h200_third_run.txt").read_text()
    slower: dict[tuple[str, str, str, str], bool] = {}
    for operator, element, rows, columns, listed in LINE.findall(text):
        rates = {name: float(rate) for name, rate in RATE.findall(listed)}
        case = {"operator": operator, "element": element, "rows": int(rows), "columns": int(columns)}
        rate = rates.get(default_version(case))  # none of a version that came after this run
        if rate is not None:  # later lines, beside compiled peers, have the default alone
            slower.setdefault((operator, element, rows, columns), rate < 0.97 * max(rates.values()))
    assert (len(slower), sum(slower.values())) == (139, 6)
    assert "of 139 cases that memory bounds, 133" in " ".join(report.GOALS_TEXT.split())


def test_shapes_tried_on_an_h200() -> None:
    """docs/operators/README.md counts the cases whose default is at most 3 % slower than the fastest shape."""
    tried = records.read(PAGES / "shapes_h200.json")
    timed: dict[Case, float] = {}
    for row in agreement.opened(records.read(AGAIN / "h200_fourth.json"))["rows"]:
        if row["contender"] == default_version(row | {"transposed": ""}):
            timed.setdefault((row["operator"], row["element"], row["rows"], row["columns"]), row["median_us"])
    products = {ladder.name for ladder in LADDERS if ladder.is_product}
    fastest: dict[Case, float] = {}
    for row in tried["rows"]:
        case = row["operator"], row["element"], row["rows"], row["columns"]
        is_later = row["operator"] in LATER_DEFAULTS and default_version(row | {"depth": 0, "transposed": ""}) == "v6"
        if row["operator"] in products or row["median_us"] is None or is_later:
            continue
        fastest[case] = min(row["median_us"], fastest.get(case, row["median_us"]))
        if version_with_shape(row) == default_version(row | {"depth": 0, "transposed": ""}):
            timed[case] = row["median_us"]  # beside the other shapes
    assert (len(fastest), sum(timed[case] <= 1.03 * time for case, time in fastest.items())) == (91, 78)
    assert "In 78 of 91 cases that memory bounds" in readme()


def test_shapes_of_version_6_tried_on_an_h200() -> None:
    """docs/operators/README.md and the report say where QuACK is faster than each shape, and by how much."""
    times: dict[Case, dict[str, float]] = {}
    for row in records.read(PAGES / "ahead_tried.json")["sweep"]:
        if "stages" in row["shape"] and 4096 <= row["columns"] <= 131072:  # of version 6, at the goal's sizes
            times.setdefault(case_of(row), {})[row["shape"]] = row["median_us"]
    assert {case[0] for case in times} == {"softmax", "layer_norm", "rms_norm"}
    quack = {
        case_of(row): row["median_us"]
        for row in records.read(H200 / "quack.json")["quack"]
        if row["contender"] == "quack"
    }
    fastest = {case: min(one.values()) for case, one in times.items()}
    rates = [2 * rows * columns * SIZES[element] / us / 1e6 for (_, element, rows, columns), us in fastest.items()]
    leads = [1 - quack[case] / us for case, us in fastest.items() if quack[case] < us]
    assert (len(times), sum(map(len, times.values())), len(leads)) == (36, 699, 10)
    assert (f"{min(rates):.2f}", f"{max(rates):.2f}", f"{max(leads):.1%}") == ("3.68", "4.08", "5.8%")
    slower = [
        row["median_us"] / fastest[case_of(row)]
        for row in records.read(H200 / "forward.json")["rows"]
        if case_of(row) in fastest and row["contender"] == default_version(row)
    ]
    assert (len(slower), f"{min(slower):.2f} to {max(slower):.2f}") == (36, "0.98 to 1.06")
    defaults = {
        case: time / fastest[case]
        for case, one in times.items()
        for shape, time in one.items()
        if version_with_shape(dict(zip(NAMES, case, strict=False)) | {"shape": shape}) == "v6"
    }
    assert len(defaults) == 36
    text = readme()
    for said in (
        "0.98 to 1.06 times as long",
        f"there each takes at most {100 * max(defaults.values()) - 100:.1f} % more time than the fastest shape",
        "timed 699 shapes",
        "3.68 to 4.08 TB/s",
        "In 10 sizes",
        "by up to 5.8 %",
    ):
        assert said in text
    for said in ("699 launch shapes", "3.68 to 4.08 TB/s", "in 10, by up to 5.8 %"):
        assert said in all_goals.CAUSES[4.1]


def test_what_other_launch_shapes_brought() -> None:
    """docs/operators/README.md and the report say it of the sizes that got another shape, and of the others."""
    ratios: dict[bool, list[float]] = {True: [], False: []}
    for row in records.read(PAGES / "shapes_chosen.json")["rows"]:
        for when in ("before", "after"):
            assert row[f"{when}_us"] == median(row[f"{when}_{number}_us"] for number in (1, 2, 3))
        is_other = row["shape_before"] != row["shape_after"]
        if is_other:
            assert version_with_shape(row | {"shape": row["shape_after"]}) == "v6"
        ratios[is_other].append(row["after_us"] / row["before_us"])
    others, same = ratios[True], ratios[False]
    means = geometric_mean(others), geometric_mean(same)
    text = readme()
    for said in (
        f"{len(others)} of the {len(others + same)} sizes got another shape.",
        f"They take {means[0]:.3f} of the time in the geometric mean: from {min(others):.2f} (",
        f"to {max(others):.2f} (",
        f"The other {len(same)}, whose shape did not change, read {min(same):.3f} to {max(same):.3f}, {means[1]:.3f}",
        f"So the gain is {100 - 100 * means[0] / means[1]:.1f} %.",
    ):
        assert said in text
    said = f"{len(others)} of {len(others + same)} sizes got other launch shapes, and take {means[0]:.2f} of the time"
    assert said in all_goals.CAUSES[4.1]


def test_what_is_said_of_peers_in_the_same_run() -> None:
    """docs/operators/README.md, goals: in how many sizes of 4k to 128k ours is slower than a peer timed beside it."""
    forward = records.read(H200 / "forward.json")
    timed = [(forward["compiled"], "torch.compile")]
    timed += [(records.read(H200 / f"{peer}.json")[peer], peer) for peer in ("quack", "liger")]
    ratios: dict[Case, float] = {}
    for rows, peer in timed:
        times: dict[Case, dict[str, float]] = {}
        for row in rows:
            if row["operator"] in ROWS and 4096 <= row["columns"] <= 131072 and row["median_us"] is not None:
                by = "ours" if row["contender"].startswith("v") else row["contender"]
                times.setdefault(case_of(row), {}).setdefault(by, row["median_us"])
        for case, one in times.items():
            if peer in one:
                ratios[case] = min(one[peer] / one["ours"], ratios.get(case, 1.0))
    behind = [ratio for ratio in ratios.values() if ratio < 1.0]
    assert len(ratios) == 36
    said = (
        f"Beside the peer in the same run ours is slower in {len(behind)}, by up to {100 - 100 * min(behind):.1f} %, "
    )
    assert said + f"in {sum(ratio > 0.98 for ratio in behind)} of them by less than 2 %" in readme()


@pytest.mark.parametrize(("peer", "name"), [("quack", "QuACK"), ("liger", "Liger")])
def test_what_is_said_of_other_libraries(peer: str, name: str) -> None:
    """docs/operators/README.md, beside QuACK and Liger: in how many sizes they are faster, and by how much."""
    times: dict[Case, dict[str, float]] = {}
    for row in records.read(H200 / f"{peer}.json")[peer]:
        by = row["contender"] if row["contender"] in (peer, "torch") else "ours"
        times.setdefault(case_of(row), {})[by] = row["median_us"]
    ratios = [one[peer] / one["ours"] for one in times.values() if one[peer] is not None]
    behind = [ratio for ratio in ratios if ratio < 1.0]
    said = f"{name} is faster in {len(behind)} of {len(ratios)} sizes, by up to {100 - 100 * min(behind):.1f} %, in "
    said += f"{sum(ratio > 0.98 for ratio in behind)} of them by less than 2 %"
    text = readme()
    assert said in text
    if peer == "quack":
        assert f"QuACK takes {max(ratios):.1f} times as long as ours." in text


def test_two_later_h200s_agree() -> None:
    """docs/operators/README.md says by how much times of softmax and the norms differ, and those of version 6."""

    def times(run: dict[str, Any]) -> dict[Case, float]:
        named = LATER_DEFAULTS
        rows = [row for row in run["rows"] if row["operator"] in named and row["median_us"] is not None]
        return {(*case_of(row)[:4], row["contender"]): row["median_us"] for row in rows}

    second = times(agreement.opened(records.read(AGAIN / "h200_later_second.json")))
    ratios = {case: second[case] / time for case, time in times(records.read(H200 / "forward.json")).items()}
    sixth = [ratio for case, ratio in ratios.items() if case[-1] == "v6"]
    of_ten = [sorted(abs(one - 1.0) for one in some)[9 * len(some) // 10] for some in (ratios.values(), sixth)]
    said = f"nine of ten times by at most {100 * of_ten[0]:.1f} %, those of version 6 by {100 * of_ten[1]:.1f} %, "
    said += f"the median of which is {100 - 100 * median(sixth):.1f} % shorter, "
    said += f"and all by at most {100 * max(abs(one - 1.0) for one in ratios.values()):.1f} %."
    assert said in readme()


LINE = re.compile(r"^ *[\d.]+ (\w+) (float32|bfloat16) (\d+) x (\d+): TB/s (.+)$", re.MULTILINE)
RATE = re.compile(r"(v\d+) ([\d.]+)")
