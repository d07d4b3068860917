"""Draws samples of recorded drives, with the expert's path in green and the route's points in red, to look at.

python -m benchmarks.imitation.sheet data/drives/drives/00003.npz out/sheet.png --rows 4
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np

from av_core.frames import vehicle_to_image
from av_core.types import CameraModel, Image
from av_stack.imitation.choice import RIG
from perception.imitation.groups import GROUPS, group_of
from perception.imitation.samples import CAMERA_PX, WIDTH_PX, Samples, decode, read_samples
from sim_configs.load import load_rig

SCALE = CAMERA_PX[0] / WIDTH_PX
"""The small pictures are drawn as large as the camera's, where the points belong."""

PATH_BGR, ROUTE_BGR = (0, 255, 0), (0, 0, 255)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drive", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--rows", type=int, default=6, help="moments, evenly over the drive")
    given = parser.parse_args()
    samples, _ = read_samples(given.drive)
    camera = load_rig(RIG).cameras[0]
    moments = np.flatnonzero(samples.view == 0)
    views = int(samples.view.max()) + 1
    chosen = moments[np.linspace(0, len(moments) - 1, given.rows + 2).astype(int)[1:-1]]
    rows = [np.hstack([drawn(samples, first + view, camera) for view in range(views)]) for first in chosen]
    given.picture.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(given.picture), np.vstack(rows))


def drawn(samples: Samples, row: int, camera: CameraModel) -> Image:
    """One sample: its picture, larger, with its points and numbers."""
    bgr = cv2.resize(decode(samples.jpeg[row]), None, fx=SCALE, fy=SCALE, interpolation=cv2.INTER_LINEAR)
    for points, colour in ((samples.path_m[row], PATH_BGR), (samples.route_m[row], ROUTE_BGR)):
        pixels, _ = vehicle_to_image(np.column_stack([points, np.zeros(len(points))]), camera)
        for u, v in pixels[np.isfinite(pixels).all(axis=1)]:
            if 0.0 <= u < camera.width_px and 0.0 <= v < camera.height_px:
                cv2.circle(bgr, (round(float(u)), round(float(v))), 4, colour, -1)
    one = slice(row, row + 1)
    kind = GROUPS[int(group_of(samples.speed_mps[one], samples.target_mps[one], samples.path_m[one])[0])]
    told = f"{kind}: {samples.speed_mps[row]:.1f} m/s, to be {samples.target_mps[row]:.1f}"
    cv2.putText(bgr, told, (6, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
    return np.asarray(bgr, np.uint8)


if __name__ == "__main__":
    main()
