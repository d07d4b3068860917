"""The fingerprint of a suite: all that its figures depend on. Only results of equal fingerprints are combined."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import av_stack
from av_core.errors import ConfigError
from av_stack.suite.job import DIGEST_CHARS, Job, Options, digest

ROOT = Path(av_stack.__file__).parents[1]
DOMAIN_PACKAGES = ("perception", "planning", "control", "scenarios", "sim_configs")
PACKAGES = ("av_core", "av_stack", "cuda_ops", "embedded_carla", *DOMAIN_PACKAGES)
LIBRARIES = ("carla", "numpy", "openvino", "torch")
BUILT = {"__pycache__", "build"}
"""Folders that tools write into the packages."""

NOT_COMPARED = ("commit",)
"""Keys that are only information for people: commits that change only documents have the same code."""


def fingerprint(
    suite: str, jobs: Sequence[Job], options: Options, driving: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Version, machine, options and runs of a suite, as plain values.

    `driving` is the kind of machine that drives; without it, this machine is taken.
    """
    return {
        "suite": suite,
        "version": version(),
        "machine": dict(driving) if driving is not None else machine(),
        "options": {
            "oracles": list(options.oracles),
            "agent": options.agent,
            **({"weights": _content(options.weights)} if options.weights is not None else {}),
            **({"detector": options.detector} if options.detector is not None else {}),
            "seed": options.seed,
            "server": str(options.address) if options.address is not None else "embedded",
        },
        "runs": {job.name: job.digest() for job in jobs},
    }


def _content(path: Path) -> str:
    """A digest of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGEST_CHARS]


def fingerprint_id(content: Mapping[str, Any]) -> str:
    """A digest of a fingerprint; it is equal for two fingerprints if and only if `differences` finds none."""
    return digest(*(f"{key}={value}" for key, value in sorted(_flat(content).items())))


def differences(there: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The differences between two fingerprints, in words; empty if they are equal."""
    first, second = _flat(there), _flat(now)
    keys = [*first, *(key for key in second if key not in first)]
    return [
        f"{key}: {first.get(key, 'absent')} there, {second.get(key, 'absent')} now"
        for key in keys
        if first.get(key) != second.get(key)
    ]


def refuse_differences(there: Mapping[str, Any], now: Mapping[str, Any], where: str) -> None:
    """Raise ConfigError if the results in `where` have another fingerprint, so that new ones must not be added."""
    found = differences(there, now)
    if found:
        more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
        raise ConfigError(
            f"{where} holds results that do not belong together with those of now: {'; '.join(found[:3])}{more}; "
            "repeat the command as it was, or give another --out"
        )


@cache
def version() -> dict[str, str]:
    """The code that drives: its version, a digest of all its files, its commit where git knows it, its libraries."""
    installed = {name: _library_version(name) for name in LIBRARIES}
    return {
        "av_stack": av_stack.__version__,
        "code": _code_digest(),
        "commit": _commit(),
        "python": platform.python_version(),
        **installed,
    }


@cache
def machine() -> dict[str, str]:
    """The kind of this machine; two of the same kind are equal."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "gpu": ", ".join(_gpus()) or "none",
    }


def _flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key} ")
        elif key not in NOT_COMPARED:
            flat[f"{prefix}{key}"] = value
    return flat


def _code_digest() -> str:
    """A digest of the content of all files of the packages."""
    total = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_file() and BUILT.isdisjoint(path.parts) and ".egg-info" not in str(path):
                total.update(f"{path.relative_to(ROOT)}\0".encode())
                total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:DIGEST_CHARS]


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10.0,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def _library_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())


def _gpus() -> list[str]:
    """Models of the NVIDIA GPUs, as the driver names them."""
    found = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    lines = [line for path in found for line in path.read_text().splitlines() if line.startswith("Model:")]
    return [line.partition(":")[2].strip() for line in lines]
