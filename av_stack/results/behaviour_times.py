"""Statistics of what the ego did over a drive: the time in each behaviour, and how often it began."""

from __future__ import annotations

from dataclasses import dataclass, field

from av_core.types import Behaviour, Decision
from av_stack.results.constraint_times import STANDING_MPS


@dataclass(slots=True)
class _Spent:
    time_s: float = 0.0
    standing_s: float = 0.0
    times: int = 0


@dataclass(slots=True)
class BehaviourTimes:
    """Collects the decision of the plan at every tick; call `add` once per tick."""

    _spent: dict[Behaviour, _Spent] = field(default_factory=dict)
    _last: Behaviour | None = None

    def add(self, decision: Decision | None, speed_mps: float, step_s: float) -> None:
        """Add one tick of `step_s` at the true speed `speed_mps`; None for a plan without a decision."""
        behaviour = None if decision is None else decision.behaviour
        if behaviour is not None:
            spent = self._spent.setdefault(behaviour, _Spent())
            spent.time_s += step_s
            spent.standing_s += step_s if abs(speed_mps) < STANDING_MPS else 0.0
            spent.times += behaviour is not self._last
        self._last = behaviour

    def figures(self) -> dict[str, dict[str, float]]:
        """For each behaviour its seconds, those of them in which the ego stood, and how often it began; longest
        first."""
        longest_first = sorted(self._spent.items(), key=lambda item: -item[1].time_s)
        return {
            behaviour.value: {
                "time_s": round(spent.time_s, 3),
                "standing_s": round(spent.standing_s, 3),
                "times": spent.times,
            }
            for behaviour, spent in longest_first
        }
