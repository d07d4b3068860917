"""Where the shipped weights of the imitation network lie; light to import, so that commands can name them."""

from __future__ import annotations

from pathlib import Path

SHIPPED = Path(__file__).parents[1] / "weights" / "imitation.pt"
"""Trained on drives of the stack in five towns; docs/networks/imitation.md says how, and how well it drives."""
