"""Judges a drive by the simulator's truth: criteria, scores, safety and comfort (docs/judging.md)."""
