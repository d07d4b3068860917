"""Compares our calibration with ONNX Runtime's, both run by ONNX Runtime, where it is installed.

    python -m benchmarks.networks.onnx_runtime SET DATA RECORD.json --weights detector_n.pt

SET and DATA are as for `benchmarks.networks.deployed`. The head stays in float32 with both.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.__main__ import machine
from benchmarks.networks.picture_set import SCORE_MIN, mean_precision, pictures
from perception.detection.detector import letterbox
from perception.detection.resident import read_labelled
from perception.detection.rows_kernel import strongest
from perception.detection.weights import COMPACT_SIZE_PX
from perception.networks.calibration import by_max, histograms
from perception.networks.detectors import body_layers, folded_detector
from perception.networks.fake_quantization import quantized
from perception.networks.onnx_export import INPUT, write_onnx

METHODS = ("MinMax", "Percentile", "Entropy")


def input_of(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """A picture as the networks take it (1, 3, height, width)."""
    padded = letterbox(rgb, COMPACT_SIZE_PX)[0]
    return np.ascontiguousarray(padded.transpose(2, 0, 1)[None].astype(np.float32) / 255.0)


def theirs(plain: Path, inputs: list[NDArray[np.float32]], method: str, out: Path) -> None:
    """Quantize the float network `plain` by ONNX Runtime's own tool."""
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime is untyped
        def __init__(self) -> None:
            self._rest: Iterator[NDArray[np.float32]] = iter(inputs)

        def get_next(self) -> dict[str, Any] | None:
            following = next(self._rest, None)
            return None if following is None else {INPUT: following}

    ready = out.with_suffix(".ready.onnx")
    quant_pre_process(str(plain), str(ready), skip_symbolic_shape=True)
    nodes = onnx.load(str(ready)).graph.node
    numbers = [int(node.name.split("/model.")[1].split("/")[0]) for node in nodes if "/model." in node.name]
    head = f"/model.{max(numbers)}/"
    body = [node.name for node in nodes if node.op_type == "Conv" and head not in node.name]
    quantize_static(
        str(ready), str(out), Reader(), quant_format=QuantFormat.QDQ, per_channel=True, nodes_to_quantize=body,
        calibrate_method=CalibrationMethod[method],
    )  # fmt: skip


def measure(path: Path, shown: list[tuple[NDArray[np.uint8], Any, str]]) -> dict[str, float]:
    """Precision, and the median time of a picture on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rows, took_ms = [], []
    for bgr, _, _ in shown:
        given = {INPUT: input_of(np.ascontiguousarray(bgr[:, :, ::-1]))}
        began = time.perf_counter()
        found = session.run(None, given)[0][0]
        took_ms.append(1e3 * (time.perf_counter() - began))
        rows.append(strongest(found, 1.0, bgr.shape[1], bgr.shape[0], SCORE_MIN))
    precision = mean_precision(rows, [of for _, of, _ in shown])
    return {"map": round(precision, 4), "ms_median": round(float(np.median(took_ms)), 1)}


def main() -> None:
    import onnxruntime

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("set", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--pictures", type=int, default=300, help="Pictures that our ranges are measured on.")
    parser.add_argument("--their-pictures", type=int, default=32, help="Those for ONNX Runtime: it keeps all values.")
    given = parser.parse_args()
    shown = list(pictures(given.set, given.rounds))
    paths = sorted((given.data / "images" / "train").glob("*.jpg"))
    chosen = np.random.default_rng(0).choice(len(paths), given.pictures, replace=False)
    inputs = [input_of(read_labelled(paths[i])[0]) for i in chosen]
    record: dict[str, Any] = {"machine": machine(), "onnxruntime": onnxruntime.__version__, "pictures": len(shown),
                              "our calibration": len(inputs), "their calibration": given.their_pictures}  # fmt: skip
    found: dict[str, Any] = {}
    record["networks"] = found
    with TemporaryDirectory() as work:
        model = folded_detector(given.weights)
        plain, ours = Path(work) / "plain.onnx", Path(work) / "ours.onnx"
        write_onnx(model, COMPACT_SIZE_PX, plain)

        def run() -> None:
            for one in inputs:
                model(torch.from_numpy(one))

        seen = histograms(model, body_layers(model), run)
        write_onnx(quantized(model, {name: by_max(one) for name, one in seen.items()}), COMPACT_SIZE_PX, ours)
        found["float32"] = measure(plain, shown)
        found["ours, max, per channel"] = measure(ours, shown)
        for method in METHODS:
            path = Path(work) / f"{method}.onnx"
            theirs(plain, inputs[: given.their_pictures], method, path)
            found[f"ONNX Runtime, {method}, per channel"] = measure(path, shown)
            print(method, found, flush=True)
            given.record.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
