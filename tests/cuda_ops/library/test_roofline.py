"""The roofline: limits and points computed by hand, and where the picture draws them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from benchmarks.gpu.library import pages
from cuda_ops.errors import CudaOpsError
from cuda_ops.library import records
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.roofline import lines, points_of, roof_of
from cuda_ops.library.roofline_convolutions import convolution_points, layer_points, roof_with_copy
from cuda_ops.library.roofline_picture import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, picture, x_px, y_px


def row(operator: str, contender: str, columns: int, tb_per_s: float | None, clock_mhz: int | None) -> dict[str, Any]:
    case = {"operator": operator, "element": "float32", "rows": 1, "columns": columns}
    return case | {"contender": contender, "tb_per_s": tb_per_s, "clock_mhz": clock_mhz}


RUN = {
    "machine": {"gpu": "a GPU", "processors": 100},
    "copy": {"tb_per_s": 2.0},
    "rows": [
        row("softmax", "v1", 1024, 1.0, 1000),
        row("softmax", "v2", 1024, 1.6, None),
        row("softmax", "v1", 4096, 0.8, 1500),
        row("softmax", "v2", 4096, None, None),
        row("add", "v1", 1024, 2.4, 2000),
        row("add", "torch", 1024, 3.2, 2000),
    ],
}


def test_the_limits_are_those_of_the_run() -> None:
    roof = roof_of([RUN])
    assert (roof.copy_tb_per_s, roof.memory_tb_per_s, roof.memory_by) == (2.0, 3.2, "add, float32, torch")
    assert roof.float32_tflop_per_s == pytest.approx(51.2)  # 100 processors, 128 lanes, 2 operations, 2 GHz
    assert roof.half_tflop_per_s == pytest.approx(819.2)
    assert roof.tflop_per_s(1000.0, tensor_products=1) == pytest.approx(819.2)
    assert roof.tflop_per_s(1000.0, tensor_products=4) == pytest.approx(204.8)
    assert roof.ridge == pytest.approx(16.0)
    assert roof.tflop_per_s(0.5) == pytest.approx(1.6)
    assert roof.tflop_per_s(100.0) == pytest.approx(51.2)


def test_a_point_is_the_fastest_version_of_its_size() -> None:
    found = [(point.operator, point.columns, point.version, point.tb_per_s) for point in points_of([RUN])]
    assert found == [("add", 1024, "v1", 2.4), ("softmax", 1024, "v2", 1.6), ("softmax", 4096, "v1", 0.8)]
    add, softmax, _ = points_of([RUN])
    assert add.operations_per_byte == pytest.approx(1 / 12)  # one sum for three float32
    assert softmax.tflop_per_s == pytest.approx(5 / 8 * 1.6)
    assert softmax.share(roof_of([RUN])) == pytest.approx(0.5)


def test_a_line_goes_from_the_slowest_to_the_fastest_size() -> None:
    found = lines(points_of([RUN]), roof_of([RUN]))
    assert found[0] == ["add", "float32", "0.08", "2.40 (1 x 1024, v1)", "2.40 (1 x 1024, v1)", "0.20", "75 %"]
    assert found[1][3:] == ["0.80 (1 x 4096, v1)", "1.60 (1 x 1024, v2)", "1.00", "25 % to 50 %"]


def test_the_picture_marks_each_point_at_its_place() -> None:
    points = points_of([RUN])
    drawn = picture(points, roof_of([RUN]))
    marks = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawn)]
    wanted = [(x_px(point.operations_per_byte), y_px(point.tflop_per_s)) for point in points]
    assert marks == [pytest.approx(one, abs=0.06) for one in wanted]
    assert x_px(1.0) < x_px(10.0)
    assert y_px(1.0) > y_px(10.0)


def test_the_page_draws_every_operator_and_every_layer_of_the_record() -> None:
    drawn = (pages.PAGES / "roofline.svg").read_text()
    shown = set(re.findall(r"<title>(\w+) ", drawn))
    assert shown == {ladder.name for ladder in LADDERS} | {"convolve"}
    layers = records.read(pages.LAYERS_FILE)["rows"]
    drawn_layers = (pages.PAGES / "roofline_layers.svg").read_text()
    assert len(layers) == len(re.findall(r"<title>", drawn_layers)) == 89
    for text in (drawn, drawn_layers):
        for x, y in re.findall(r'<(?:circle cx|rect x)="([\d.]+)" c?y="([\d.]+)"[^>]*><title>', text):
            assert LEFT - 4 <= float(x) <= RIGHT
            assert TOP <= float(y) <= BOTTOM
        assert all(float(y) < HEIGHT for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)"', text))
        assert all(0 < int(lightness) < 100 for lightness in re.findall(r"75%, (-?\d+)%\)", text))


def test_a_convolution_is_its_product() -> None:
    case = {"pictures": 2, "channels": 8, "height": 4, "width": 6, "columns": 16, "taps": 3}
    times = {"v1": 9.0, "v2": 3.0, "cudnn": 1.0, "v3": None}
    (point,) = convolution_points({"rows": [case | {"contender": n, "median_us": us} for n, us in times.items()]})
    moved = 2 * (48 * 8 + 72 * 16 + 48 * 16)
    assert (point.version, point.rows, point.columns, point.depth) == ("v2", 48, 16, 72)
    assert point.tflop_per_s == pytest.approx(2 * 48 * 16 * 72 / 3e6)
    assert point.tb_per_s == pytest.approx(moved / 3e6)


def test_a_layer_of_stride_2_reads_its_whole_picture() -> None:
    row = {"window": [1, 8, 12, 16, 32, 3, 2], "plans_us": {"slow": 4.0, "quick": 2.0}, "best": "quick"}
    (point,) = layer_points({"rows": [row]})
    moved = 2 * (8 * 12 * 16 + 144 * 32 + 4 * 6 * 32 + 32)
    assert (point.operator, point.rows, point.columns, point.depth) == ("3 x 3, stride 2", 24, 32, 144)
    assert point.tb_per_s == pytest.approx(moved / 2e6)
    assert point.operations_per_byte == pytest.approx(2 * 24 * 32 * 144 / moved)


def test_the_memory_of_another_gpu_is_its_copy() -> None:
    roof = roof_with_copy(roof_of([RUN]), {"machine": {"gpu": "another"}, "copy_bytes_per_s": 4e12})
    assert (roof.gpu, roof.memory_tb_per_s) == ("another", 4.0)
    assert roof.half_tflop_per_s == pytest.approx(819.2)


def test_a_run_without_clocks_is_named() -> None:
    run = RUN | {"rows": [row("add", "v1", 1024, 2.4, None)]}
    with pytest.raises(CudaOpsError, match="no row has a clock"):
        roof_of([run])
