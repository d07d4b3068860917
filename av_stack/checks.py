"""Checks of command-line arguments, made before anything is loaded or started."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Collection, Sequence
from pathlib import Path

from av_core.errors import ConfigError
from av_core.suggest import did_you_mean
from av_stack.world.spec import Address
from perception.detection.weights import DETECTORS

PORT_MAX = 65534
"""Largest allowed port; CARLA also uses the next one."""
HOST_MAX_CHARS = 253


def parse_address(server: str | None) -> Address | None:
    """Parse the address in `--server HOST:PORT`; None where the option is not given. Raises ConfigError."""
    if server is None:
        return None
    host, _, port = server.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and len(port) <= 5 and 0 < int(port) <= PORT_MAX
    if not host or len(host) > HOST_MAX_CHARS or not host.isprintable() or " " in host or "/" in host or not is_port:
        raise ConfigError(
            f"--server {server!r:.80}: expected HOST:PORT with a port from 1 to {PORT_MAX}, for example 127.0.0.1:2000"
        )
    return Address(host, int(port))


def parse_list(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list, without blanks around them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def check_known(option: str, names: Sequence[str], known: Collection[str]) -> None:
    """Raise ConfigError for the first of `names` that is not among `known`."""
    for name in names:
        if name not in known:
            raise ConfigError(f"{option}: unknown name {name!r:.80}{did_you_mean(name, known)}; allowed are "
                              f"{', '.join(known)}")  # fmt: skip


def check_maps_folder(maps: Path | None) -> None:
    """Raise ConfigError unless `--maps` is a folder, or not given."""
    if maps is not None and not maps.is_dir():
        raise ConfigError(f"--maps {maps}: {'not a folder' if maps.exists() else 'no such folder'}")


def check_map(name: str, known: Collection[str]) -> None:
    """Raise ConfigError unless the embedded server has the map; NAME_Opt is CARLA's other name for NAME."""
    if name.removesuffix("_Opt") not in known and name not in known:
        raise ConfigError(
            f"unknown map {name!r:.80}{did_you_mean(name, known)}; there are {', '.join(known)}; "
            "--maps DIR adds the .xodr files of a folder"
        )


def check_out_folder(out: Path | None, option: str = "--out") -> None:
    """Raise ConfigError where `out` is not, and cannot become, a folder that files can be written to."""
    if out is None:
        return
    if str(out) in ("", "."):
        raise ConfigError(f"{option}: the name of the folder is empty; expected a folder, for example out")
    for folder in (out, *out.parents):
        if folder.is_dir():
            if not os.access(folder, os.W_OK | os.X_OK):
                raise ConfigError(f"{option} {out}: no permission to write in {folder}")
            return
        if folder.exists() or folder.is_symlink():
            what = "not a folder" if folder == out else f"{folder} is not a folder"
            raise ConfigError(f"{option} {out}: {what}; expected a folder, which is made where it is missing")


def check_detector(name: str | None) -> None:
    """Raise ConfigError unless `--detector` is the name of shipped weights, or not given."""
    check_known("--detector", [name] if name is not None else [], DETECTORS)


def chosen_detector(name: str | None, weights: Path | None) -> Path | None:
    """The weights that `--detector NAME` or `--weights FILE` choose; None where neither is given.

    Raises ConfigError for an unknown name, for a file that is no checkpoint, and if both options are given.
    """
    check_detector(name)
    check_weights(weights)
    if name is None:
        return weights
    if weights is not None:
        raise ConfigError(f"--detector {name} and --weights {weights}: expected only one of the two")
    return DETECTORS[name]


def check_weights(weights: Path | None, option: str = "--weights") -> None:
    """Raise ConfigError unless `weights` is a checkpoint as PyTorch writes it: a zip archive that holds data.pkl."""
    if weights is None:
        return
    if not weights.is_file():
        raise ConfigError(f"{option} {weights}: {'not a file' if weights.exists() else 'no such file'}")
    try:
        with zipfile.ZipFile(weights) as archive:
            is_checkpoint = any(name.endswith("/data.pkl") for name in archive.namelist())
    except zipfile.BadZipFile:
        is_checkpoint = False
    if not is_checkpoint:
        raise ConfigError(f"{option} {weights}: not a PyTorch checkpoint; expected a .pt that `av-stack train` wrote")
