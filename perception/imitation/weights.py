"""The weights file of the imitation network: large weights in eight bits, the rest as fp16; compressed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from av_core.errors import ConfigError
from perception.imitation.network import ImitationNetwork, NetworkShape
from perception.networks.compressed import SMALLEST, deflate
from perception.networks.eight_bits import LEVEL_MAX, quantize_weight

FORMAT = "av-stack imitation 1"


def save_weights(network: ImitationNetwork, path: Path) -> None:
    """Write the network; its weights with `SMALLEST` values and more get eight bits, one scale per output channel."""
    state: dict[str, Any] = {}
    for name, value in network.state_dict().items():
        value = value.detach().cpu()
        if value.ndim > 1 and value.numel() >= SMALLEST:
            levels, scale = quantize_weight(value)
            state[name] = {"levels": levels, "scale": scale}
        else:
            state[name] = value.half() if value.is_floating_point() and value.ndim else value
    torch.save({"format": FORMAT, "shape": asdict(network.shape), "state": state}, path)
    deflate(path)


def load_weights(path: Path) -> ImitationNetwork:
    """The network of a weights file, ready to drive. Raises ConfigError for a file of another kind."""
    try:
        held = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001 - torch raises errors of many kinds for files that it cannot read
        raise ConfigError(f"{path}: not the weights of an imitation network ({type(error).__name__})") from None
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        raise ConfigError(f"{path}: not the weights of an imitation network; `av-stack train imitation` makes them")
    shape = {"far_width": 0, **held["shape"]}  # networks of older weights have no part for the far picture
    network = ImitationNetwork(NetworkShape(**{**shape, "route_ahead_m": tuple(shape["route_ahead_m"])}))
    network.load_state_dict({name: _restored(value) for name, value in held["state"].items()})
    return network.eval()


def _restored(value: Any) -> torch.Tensor:
    if not isinstance(value, dict):
        return torch.as_tensor(value)
    levels, scale = value["levels"], value["scale"]
    rows = levels.clamp(-LEVEL_MAX, LEVEL_MAX).float().flatten(1) * scale[:, None]
    return torch.as_tensor(rows.reshape(levels.shape))
