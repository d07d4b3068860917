"""Which weights a drive's detector takes, and which the imitation."""

from pathlib import Path

import pytest

from av_core.errors import ConfigError
from av_stack.assembly import DETECTOR_ORACLES
from av_stack.checks import chosen_detector
from av_stack.imitation.choice import chosen_weights
from av_stack.run import needed_weights
from av_stack.suite.job import Options
from perception.detection.weights import COMPACT, DETECTORS, LARGE, RESNET
from perception.imitation.shipped import SHIPPED


def test_a_gpu_gets_the_larger_network_and_a_user_their_own() -> None:
    assert needed_weights((), None, "cpu") == COMPACT
    assert needed_weights((), None, "cuda") == LARGE
    assert LARGE.is_file()
    assert needed_weights((), Path("mine.pt"), "cuda") == Path("mine.pt")
    assert needed_weights(DETECTOR_ORACLES, None, "cuda") is None


def test_a_detector_is_chosen_by_its_name_or_by_a_file() -> None:
    assert chosen_detector(None, None) is None
    assert chosen_detector(None, LARGE) == LARGE
    assert chosen_detector("resnet", None) == RESNET
    with pytest.raises(ConfigError, match="expected only one of the two"):
        chosen_detector("resnet", LARGE)
    with pytest.raises(ConfigError, match="allowed are n, s, resnet"):
        chosen_detector("m", None)
    assert all(path.is_file() for path in DETECTORS.values())
    assert RESNET.stat().st_size < 6_000_000


def test_the_runs_of_a_suite_get_its_detector() -> None:
    assert Options(detector="resnet").arguments()[-2:] == ("--detector", "resnet")
    assert "--detector" not in Options().arguments()


def test_the_imitation_gets_the_shipped_network_or_a_users_own() -> None:
    assert chosen_weights(None) == SHIPPED
    assert chosen_weights(Path("mine.pt")) == Path("mine.pt")
    assert SHIPPED.stat().st_size < 4_000_000
