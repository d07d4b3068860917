"""Which weights a drive's detector takes."""

from pathlib import Path

from av_stack.assembly import DETECTOR_ORACLES
from av_stack.run import needed_weights
from perception.detection.weights import COMPACT, LARGE


def test_a_gpu_gets_the_larger_network_and_a_user_their_own() -> None:
    assert needed_weights((), None, "cpu") == COMPACT
    assert needed_weights((), None, "cuda") == LARGE
    assert LARGE.is_file()
    assert needed_weights((), Path("mine.pt"), "cuda") == Path("mine.pt")
    assert needed_weights(DETECTOR_ORACLES, None, "cuda") is None
