"""Counts how often GPU results equal their references: `python -m benchmarks.gpu.equality --out FILE`.

It compares Canny with cv2.Canny, and the keep-set of `detect_dense` with that of torchvision.ops.batched_nms, on random
inputs and on real ones: crops of the pictures in `--pictures`, and the shipped detector's one-to-many head on them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torchvision.ops import batched_nms

from benchmarks.gpu.effort import repeats
from benchmarks.gpu.operators import picture
from cuda_ops.canny.op import canny
from cuda_ops.detect import reference
from cuda_ops.detect.op import detect_dense
from perception.detection.offline import ultralytics
from perception.detection.weights import COMPACT

Counts = dict[str, list[int]]
SCORE_MIN, IOU_MAX, LIMIT = 0.25, 0.7, 300


def counted(worker: int, workers: int, pictures: int, heads: int, folder: str) -> Counts:
    """Counts [compared, equal] of each kind, over every `workers`-th seed."""
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    found: Counts = {}

    def count(kind: str, is_equal: bool) -> None:
        row = found.setdefault(kind, [0, 0])
        row[0] += 1
        row[1] += is_equal

    for seed in range(worker, pictures, workers):
        count("canny, random", canny_agrees(random_picture(seed), seed))
        count("keep-set, random", keep_set_agrees(random_head(seed)))
    for seed in range(pictures + (worker - pictures) % workers, heads, workers):
        count("keep-set, random", keep_set_agrees(random_head(seed)))
    if folder:
        network = one_to_many()
        for seed, piece in real_pieces(Path(folder), worker, workers, pictures):
            count("canny, real", canny_agrees(cv2.cvtColor(piece, cv2.COLOR_BGR2GRAY), seed))
            count("keep-set, real", keep_set_agrees(network(piece), 0.005))
    return found


def canny_agrees(grey: np.ndarray[Any, Any], seed: int) -> bool:
    generator = np.random.default_rng(seed)
    low, by_norm = float(generator.integers(5, 150)), bool(seed % 2)
    high = low * float(generator.uniform(1.0, 3.5))
    ours = canny(torch.from_numpy(grey).cuda(), low, high, by_norm).cpu().numpy()
    return bool(np.array_equal(ours, cv2.Canny(grey, low, high, L2gradient=by_norm)))


def keep_set_agrees(head: torch.Tensor, score_min: float = SCORE_MIN) -> bool:
    boxes, scores, labels = (torch.from_numpy(part) for part in reference.candidates(head[0].numpy(), score_min))
    kept = batched_nms(boxes, scores, labels.long(), IOU_MAX)[:LIMIT]
    found = detect_dense(head.cuda(), score_min, IOU_MAX, LIMIT)
    count = int(found.counts[0, 0])
    same = count == len(kept) and torch.equal(found.boxes[0, :count].cpu(), boxes[kept])
    return bool(same and torch.equal(found.labels[0, :count].cpu(), labels[kept]))


def random_picture(seed: int) -> np.ndarray[Any, Any]:
    """Shapes and lines (odd seeds), or noise whose grain depends on the seed."""
    if seed % 2:
        return picture(720, 1280, 1, seed)
    noise = np.random.default_rng(seed).integers(0, 256, (720, 1280)).astype(np.uint8)
    return np.asarray(cv2.GaussianBlur(noise, (0, 0), 0.5 + 0.25 * (seed % 16)) * 3, dtype=np.uint8)


def random_head(seed: int) -> torch.Tensor:
    """Random head (1, 84, 8400): boxes around forty centres, some of them with high scores."""
    generator = np.random.default_rng(seed)
    head = generator.random((84, 8400), dtype=np.float32)
    centres = generator.random((2, 40), dtype=np.float32) * 600
    jitter = generator.standard_normal((2, 8400), dtype=np.float32) * 8
    head[:2] = centres[:, generator.integers(0, 40, 8400)] + jitter + 100
    head[2:4] = 20 + 80 * head[2:4]
    head[4:] *= np.where(head[4:] > 1.0 - generator.choice((1e-4, 5e-4, 1e-3)), 1.0, 0.2)
    return torch.from_numpy(head[None]).to(torch.half if seed % 2 else torch.float32)


def real_pieces(folder: Path, worker: int, workers: int, count: int) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """Seeds, and crops (384, 640, 3) of the folder's pictures at random places and sizes, half of them mirrored."""
    whole = [_read(path) for path in sorted(folder.glob("*.[jp][pn]g"))]
    for seed in range(worker, count, workers):
        generator = np.random.default_rng(seed)
        bgr = whole[seed % len(whole)]
        share = generator.uniform(0.4, 1.0)
        size = (int(share * bgr.shape[0]), int(share * bgr.shape[1]))
        top, left = (int(generator.integers(0, all_ - part + 1)) for all_, part in zip(bgr.shape, size, strict=False))
        piece = cv2.resize(bgr[top : top + size[0], left : left + size[1]], (640, 384))
        yield seed, np.ascontiguousarray(piece[:, ::-1] if generator.random() < 0.5 else piece)


def _read(path: Path) -> np.ndarray[Any, Any]:
    bgr = cv2.imread(str(path))
    if bgr is None:
        raise OSError(f"{path} is no picture")
    return bgr


def one_to_many() -> Any:
    """Function from a picture to the shipped weights' one-to-many head (1, 4 + classes, anchors), half precision."""
    model = ultralytics().YOLO(str(COMPACT)).model
    model.end2end = False
    model = model.fuse(verbose=False).eval().cuda().half()

    def head(bgr: np.ndarray[Any, Any]) -> torch.Tensor:
        rgb = torch.from_numpy(bgr).cuda().permute(2, 0, 1).flip(0)[None].half() / 255.0
        with torch.inference_mode():
            found: torch.Tensor = model(rgb)[0].cpu()
            return found

    return head


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/gpu_equality.json"))
    parser.add_argument("--pictures", default="", help="folder with real pictures")
    parser.add_argument("--canny", type=int, default=repeats(1000, 100))
    parser.add_argument("--heads", type=int, default=repeats(10000, 1000))
    parser.add_argument("--workers", type=int, default=8)
    a = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("gpu.equality: torch sees no GPU")
    with ProcessPoolExecutor(a.workers, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(counted, i, a.workers, a.canny, a.heads, a.pictures) for i in range(a.workers)]
        parts = [job.result() for job in jobs]
    kinds = sorted({kind for part in parts for kind in part})
    total = {kind: [sum(part.get(kind, [0, 0])[i] for part in parts) for i in (0, 1)] for kind in kinds}
    figures = {kind: {"compared": compared, "equal": equal} for kind, (compared, equal) in total.items()}
    result = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "opencv": cv2.__version__, **figures}
    a.out.parent.mkdir(parents=True, exist_ok=True)
    a.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    if any(compared != equal for compared, equal in total.values()):
        raise SystemExit("gpu.equality: not all are equal")


if __name__ == "__main__":
    main()
