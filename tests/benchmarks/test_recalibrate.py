"""The shift of scores that lets later weights find as many objects as earlier ones."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.unreal.recalibrate import shift_of

LIMIT = 0.15


def shifted(scores: np.ndarray, by: float) -> np.ndarray:
    """Scores whose logits are raised; those of missed objects stay zero."""
    logits = np.log(np.maximum(scores, 1e-12) / (1.0 - scores)) + by
    return np.where(scores > 0.0, 1.0 / (1.0 + np.exp(-logits)), 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_as_many_are_found_as_before_and_no_more_than_needed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = rng.uniform(0.01, 0.95, 400)
    after = shifted(before, -0.4) * (rng.uniform(size=400) > 0.02)  # a few are not seen at all
    by = shift_of(before, after, LIMIT)
    wanted = int((before >= LIMIT).sum())
    assert int((shifted(after, by + 1e-9) >= LIMIT).sum()) == wanted
    assert int((shifted(after, by - 1e-3) >= LIMIT).sum()) <= wanted
    assert by > 0.3


def test_scores_that_have_risen_stay() -> None:
    before = np.array([0.1, 0.2, 0.3])
    assert shift_of(before, before + 0.2, LIMIT) == 0.0


def test_objects_that_are_seen_at_no_score_cannot_be_found_again() -> None:
    with pytest.raises(ValueError, match="fewer than 3"):
        shift_of(np.array([0.5, 0.5, 0.5]), np.array([0.5, 0.0, 0.5]), LIMIT)
