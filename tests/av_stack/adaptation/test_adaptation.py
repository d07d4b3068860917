"""A small adaptation against the embedded server: killed while it takes pictures, stopped in training, then completed.

It takes longer than other tests, since three towns are loaded and the detector is trained and run on a CPU.
"""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np
import pytest

from av_core.errors import ConfigError
from av_stack.adaptation.adapt import AdaptSpec, adapt
from av_stack.server_process import ServerProcess
from av_stack.world.carla.capture.shots import CaptureSpec
from av_stack.world.spec import Address
from perception.detection.detector import Detector
from perception.detection.networks import TorchNetwork
from perception.detection.weights import COMPACT_SIZE_PX

STREET = Path(__file__).parents[2] / "perception" / "pictures" / "detector_street.jpg"
EPISODE = CaptureSpec("", 0, views=3, scenes=2, shots=1, vehicles=20, walkers=2, guests=6)


def killed_after_an_episode(address: Address, spec: AdaptSpec) -> None:
    def kill(what: str, share: float) -> None:
        if what.startswith("taking") and share > 0.0:
            os.kill(os.getpid(), signal.SIGKILL)

    adapt(address, spec, kill)


@pytest.mark.timeout(600)  # on busy cores; see above
def test_an_adaptation_that_was_killed_and_stopped_goes_on(tmp_path: Path) -> None:
    spec = AdaptSpec(tmp_path / "out", pictures=8, hours=0.001, episode=EPISODE)
    with ServerProcess(["--map", "city_grid"]) as address:
        process = get_context("spawn").Process(target=killed_after_an_episode, args=(address, spec))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        kept = {path: path.stat().st_mtime_ns for path in spec.out.glob("pictures/images/*/*.jpg")}
        assert len(kept) == 6

        def stop(what: str, share: float) -> None:
            if what.startswith("training"):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            adapt(address, spec, stop)
        assert not (spec.out / "report.json").exists()
        told: list[str] = []
        report = adapt(address, spec, lambda what, share: told.append(what))
        assert {path: path.stat().st_mtime_ns for path in kept} == kept
        with pytest.raises(ConfigError, match="other options"):
            adapt(address, replace(spec, pictures=16), lambda what, share: None)
    assert report == json.loads((spec.out / "report.json").read_text())
    assert report["note"] == "the town proving_ground is held back"
    assert report["pictures"]["learnt_from"] == report["pictures"]["held_back"] == report["pictures"]["own"] == 6
    assert report["training"]["steps"] >= 1
    assert {row["figure"].split()[0] for row in report["shown"]} == {"vehicles:", "vehicles", "people", "false"}
    network = TorchNetwork(spec.out / "detector_n.pt", COMPACT_SIZE_PX, "cpu")
    street = cv2.imread(str(STREET))
    assert street is not None
    assert Detector(network).detect_in(np.asarray(street, dtype=np.uint8))
