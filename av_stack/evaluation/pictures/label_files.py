"""Reads pictures with YOLO, Pascal VOC, COCO or KITTI labels, and recognizes the format from the files."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import yaml
from lxml import etree

from av_core.errors import ConfigError

PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".webp")
NAME_FILES = ("labels.txt", "classes.txt", "obj.names")
"""Files that list the class names of a YOLO data set, one in each line."""

KITTI_COLUMNS = 15
"""Number of columns in a line of a KITTI label file."""

KITTI_TRUNCATED_MAX, KITTI_OCCLUDED_MAX = 0.5, 2
"""Largest truncated fraction and occlusion level of an object that counts: those of KITTI's difficulty 'hard'."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class MarkedBox:
    """One labelled object.

    * `name`: the data set's own class name.
    * `box_px`: (u0, v0, u1, v1), outer edges.
    * `counts`: False for an object that is labelled as difficult; it is not scored.
    """

    name: str
    box_px: Box
    counts: bool = True


@dataclass(frozen=True, slots=True)
class MarkedPicture:
    """A picture and its labelled objects."""

    path: Path
    boxes: tuple[MarkedBox, ...]


def read_pictures(folder: Path) -> list[MarkedPicture]:
    """All labelled pictures below `folder`, sorted by path, including pictures without objects.

    Raises ConfigError if there are no pictures, no labels of a known format, or a malformed label file.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder")
    pictures = sorted(path for path in folder.rglob("*") if path.suffix.lower() in PICTURE_SUFFIXES)
    if not pictures:
        raise ConfigError(f"{folder}: no pictures ({', '.join(PICTURE_SUFFIXES)})")
    annotations = [path for path in sorted(folder.rglob("*.json")) if _is_coco(path)]
    if annotations:
        return _read_coco(annotations, pictures)
    for read in (_voc_reader, _text_reader):
        reader = read(folder, pictures)
        if reader is not None:
            return [MarkedPicture(path, tuple(reader(path))) for path in pictures]
    raise ConfigError(f"{folder}: pictures, but no labels (YOLO .txt, Pascal VOC .xml, COCO .json or KITTI .txt)")


Reader = Callable[[Path], Iterator[MarkedBox]]


def _label_file(folder: Path, picture: Path, suffix: str) -> Path | None:
    """The label file of a picture: beside the picture, or in a folder of labels beside the folder of pictures."""
    relative = picture.relative_to(folder).with_suffix(suffix)
    choices = [picture.with_suffix(suffix)]
    for name in ("labels", "Annotations", "annotations", "label_2"):
        choices += [folder / name / relative.name, folder / Path(name, *relative.parts[1:])]
        choices.append(picture.parent.parent / name / relative.name)
    return next((choice for choice in choices if choice.is_file()), None)


def _voc_reader(folder: Path, pictures: Sequence[Path]) -> Reader | None:
    if not any(_label_file(folder, path, ".xml") for path in pictures):
        return None

    def read(picture: Path) -> Iterator[MarkedBox]:
        path = _label_file(folder, picture, ".xml")
        return iter(()) if path is None else _read_voc(path)

    return read


def _read_voc(path: Path) -> Iterator[MarkedBox]:
    try:
        root = etree.parse(str(path), etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
        for item in root.iter("object"):
            left, top, right, low = (
                float(item.findtext(f"bndbox/{edge}")) for edge in ("xmin", "ymin", "xmax", "ymax")
            )
            difficult = item.findtext("difficult", "0").strip() == "1"
            # VOC counts pixels from 1, and xmax and ymax are the last pixel inside the box.
            yield MarkedBox(item.findtext("name").strip(), (left - 1.0, top - 1.0, right, low), not difficult)
    except (etree.XMLSyntaxError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path}: not a Pascal VOC annotation: {error}") from None


def _text_reader(folder: Path, pictures: Sequence[Path]) -> Reader | None:
    """A reader for YOLO or KITTI labels, chosen by the first line of the first label file; None without such files."""
    files = filter(None, (_label_file(folder, path, ".txt") for path in pictures))
    first = next((line for file in files for line in _lines(file)), None)
    if first is None:
        return None
    if len(first.split()) >= KITTI_COLUMNS and not first.split()[0].isdigit():
        return lambda picture: _read_kitti(_label_file(folder, picture, ".txt"))
    names = _yolo_names(folder)
    return lambda picture: _read_yolo(_label_file(folder, picture, ".txt"), picture, names)


def _lines(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as text: {error}") from None


def _read_kitti(path: Path | None) -> Iterator[MarkedBox]:
    for number, line in enumerate(_lines(path) if path is not None else (), 1):
        words = line.split()
        try:
            truncated, occluded = float(words[1]), float(words[2])
            left, top, right, low = (float(word) for word in words[4:8])
        except (IndexError, ValueError):
            raise ConfigError(f"{path}:{number}: not a KITTI label: {line.strip()[:80]}") from None
        counts = truncated <= KITTI_TRUNCATED_MAX and occluded <= KITTI_OCCLUDED_MAX
        yield MarkedBox(words[0], (left, top, right, low), counts)


def _yolo_names(folder: Path) -> Mapping[int, str]:
    """Class names by number, from a YAML file with `names` or one of `NAME_FILES`. Raises ConfigError if both lack."""
    for path in sorted(folder.glob("*.yaml")):
        try:
            told = yaml.safe_load(path.read_text())
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read as YAML: {error}") from None
        names = told.get("names") if isinstance(told, dict) else None
        if isinstance(names, list):
            return {number: str(name) for number, name in enumerate(names)}
        if isinstance(names, dict):
            return {int(number): str(name) for number, name in names.items()}
    for name in NAME_FILES:
        if (folder / name).is_file():
            return dict(enumerate(line.strip() for line in _lines(folder / name)))
    raise ConfigError(f"{folder}: YOLO labels without class names: add a {NAME_FILES[0]}, one name a line")


def _read_yolo(path: Path | None, picture: Path, names: Mapping[int, str]) -> Iterator[MarkedBox]:
    lines = _lines(path) if path is not None else []
    if not lines:
        return
    width, height = _size(picture)
    for number, line in enumerate(lines, 1):
        try:
            index = int(line.split()[0])
            u, v, across, high = (float(word) for word in line.split()[1:5])
        except (IndexError, ValueError):
            raise ConfigError(
                f"{path}:{number}: not a YOLO label (class u v width height): {line.strip()[:80]}"
            ) from None
        if index not in names:
            raise ConfigError(f"{path}:{number}: class {index} has no name; there are {len(names)} names")
        left, top = (u - across / 2.0) * width, (v - high / 2.0) * height
        yield MarkedBox(names[index], (left, top, left + across * width, top + high * height))


def _size(picture: Path) -> tuple[int, int]:
    bgr = cv2.imread(str(picture))
    if bgr is None:
        raise ConfigError(f"{picture}: cannot be read as a picture")
    return bgr.shape[1], bgr.shape[0]


def _is_coco(path: Path) -> bool:
    return {"images", "annotations", "categories"} <= _json(path).keys()


def _json(path: Path) -> Mapping[str, Any]:
    try:
        told = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _read_coco(annotations: Sequence[Path], pictures: Sequence[Path]) -> list[MarkedPicture]:
    by_name = {path.name: path for path in pictures}
    out = []
    for file in annotations:
        told = _json(file)
        try:
            categories = {item["id"]: str(item["name"]) for item in told["categories"]}
            boxes: dict[Any, list[MarkedBox]] = defaultdict(list)
            for item in told["annotations"]:
                left, top, across, high = (float(value) for value in item["bbox"])
                box = (left, top, left + across, top + high)
                boxes[item["image_id"]].append(MarkedBox(categories[item["category_id"]], box, not item.get("iscrowd")))
            named = {item["id"]: Path(str(item["file_name"])).name for item in told["images"]}
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"{file}: not a COCO annotation file: {error!r}") from None
        out += [MarkedPicture(by_name[name], tuple(boxes[key])) for key, name in named.items() if name in by_name]
    if not out:
        raise ConfigError(f"{annotations[0]}: names none of the pictures that are here")
    return sorted(out, key=lambda picture: picture.path)
