"""What a run of the fuzzer has found."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

FAULT = re.compile(r"^\w+: \w+(Error|Exception|error): ")
"""An answer that tells of an exception that the server did not expect."""


@dataclass(slots=True)
class Findings:
    """What went wrong, by what it is and where, and figures."""

    messages: int = 0
    thrown: int = 0
    errors: int = 0
    faults: dict[str, str] = field(default_factory=dict)
    resident_mb: list[float] = field(default_factory=list)
    steady: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def growth(self) -> float:
        """Largest memory over that after the first messages, minus 1."""
        return max(self.resident_mb) / self.resident_mb[0] - 1.0 if self.resident_mb else 0.0
