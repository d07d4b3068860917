"""Writes the labelled pictures of CARLA's own renderer as a data set for `av-stack train detector --second`.

    python -m benchmarks.unreal.dataset DATA/carla_unreal OUT

Town02 is held back. The labels are those of `boxes.json` (`finetune` describes them); a box without
a class does not count in the loss. The labels lack stop signs and speed limits.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import yaml

from benchmarks.unreal.finetune import BOXES
from perception.detection.classes import CLASSES, STOP_SIGN
from perception.detection.mixed_loader import UNLABELLED_FILE

EPISODE = "unreal"


def write(unreal: Path, out: Path) -> int:
    """Write the data set of the pictures in `unreal` to `out`; returns the number of pictures."""
    folders = {kind: out / kind / "train" for kind in ("images", "objects", "episodes")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    labels = json.loads(BOXES.read_text())
    for number, (name, rows) in enumerate(labels.items()):
        stem = f"{EPISODE}_{number:05d}"
        shutil.copyfile(unreal / "images" / f"{name}.jpg", folders["images"] / f"{stem}.jpg")
        objects = [{"class": kind, "box_px": box, "visible": float(kind is not None)} for kind, *box in rows]
        (folders["objects"] / f"{stem}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in objects))
    (folders["episodes"] / f"{EPISODE}.json").write_text(json.dumps({"frames": len(labels)}) + "\n")
    signs = [name for name in CLASSES if name == STOP_SIGN or name.startswith("speed limit")]
    (out / UNLABELLED_FILE).write_text(json.dumps(signs) + "\n")
    table = {"path": str(out.resolve()), "names": dict(enumerate(CLASSES)), "train": "images/train"}
    (out / "dataset.yaml").write_text(yaml.safe_dump({**table, "val": "images/train"}, sort_keys=False))
    return len(labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("unreal", type=Path)
    parser.add_argument("out", type=Path)
    told = parser.parse_args()
    print(f"{write(told.unreal, told.out)} pictures in {told.out}/")


if __name__ == "__main__":
    main()
