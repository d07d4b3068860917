"""The part of a suite that runs on the nodes of a Ray cluster: makes an attempt there, and sends its files back.

Nodes need the same version of av-stack, and nothing else: neither a common disk nor the maps of the suite.
"""

from __future__ import annotations

import io
import platform
import tempfile
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from av_stack.suite.attempt import do_work, drive
from av_stack.suite.fingerprint import differences, machine, version
from av_stack.suite.job import Attempt, Job, Options, Work
from av_stack.suite.verdict import CRASHED


@dataclass(frozen=True, slots=True)
class NodeTask:
    """An attempt that a node of the given `kind` has to make.

    * `map_file`: (file name, content) of a map from `--maps`; None for other maps.
    * `command`: the command of a `Work`, which is run instead of a drive. The content of its file is sent separately.
    """

    job: Job
    options: Options
    kind: Mapping[str, Any]
    map_file: tuple[str, bytes] | None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class NodeEnded:
    """The result of an attempt: its end, and its folder as a zip archive."""

    attempt: Attempt
    files: bytes


def node_kind() -> dict[str, Any]:
    """Version and machine of this node."""
    return {"version": version(), "machine": machine()}


def drive_on_node(task: NodeTask, content: bytes | None = None) -> NodeEnded:
    """Make the attempt on this node, in a temporary folder; `content` is that of the file of its work."""
    wrong = differences(node_kind(), task.kind)
    if wrong:
        crash = f"node {platform.node()} does not belong to this suite: {'; '.join(wrong[:3])}"
        return NodeEnded(Attempt(CRASHED, crash, 0.0, crash), packed(None))
    with tempfile.TemporaryDirectory(prefix="av-stack-suite-") as name:
        folder, maps, file = Path(name) / "run", Path(name) / "maps", Path(name) / "input"
        folder.mkdir()
        maps.mkdir()
        if task.map_file is not None:
            file_name, content = task.map_file
            (maps / file_name).write_bytes(content)
        if task.command is not None and content is not None:
            file.write_bytes(content)
            attempt = do_work(Work(task.command, file), task.job, folder, threading.Event())
        else:
            options = replace(task.options, maps=maps if task.map_file is not None else None)
            attempt = drive(task.job, options.arguments(), folder, threading.Event())
        return NodeEnded(attempt, packed(folder))


def packed(folder: Path | None) -> bytes:
    """The files of a folder as a zip archive; an empty one without a folder."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_STORED) as archive:  # recording and video are compressed already
        if folder is not None:
            for path in sorted(one for one in folder.rglob("*") if one.is_file()):
                archive.write(path, path.relative_to(folder))
    return data.getvalue()


def unpack(files: bytes, folder: Path) -> None:
    """Write the files of an archive that `packed` made to an existing folder, and nothing outside it."""
    with zipfile.ZipFile(io.BytesIO(files)) as archive:
        archive.extractall(folder)
