"""Which weights a drive's detector takes, and which the imitation."""

from pathlib import Path

from av_stack.assembly import DETECTOR_ORACLES
from av_stack.imitation.choice import chosen_weights
from av_stack.run import needed_weights
from perception.detection.weights import COMPACT, LARGE
from perception.imitation.shipped import SHIPPED


def test_a_gpu_gets_the_larger_network_and_a_user_their_own() -> None:
    assert needed_weights((), None, "cpu") == COMPACT
    assert needed_weights((), None, "cuda") == LARGE
    assert LARGE.is_file()
    assert needed_weights((), Path("mine.pt"), "cuda") == Path("mine.pt")
    assert needed_weights(DETECTOR_ORACLES, None, "cuda") is None


def test_the_imitation_gets_the_shipped_network_or_a_users_own() -> None:
    assert chosen_weights(None) == SHIPPED
    assert chosen_weights(Path("mine.pt")) == Path("mine.pt")
    assert SHIPPED.stat().st_size < 4_000_000
