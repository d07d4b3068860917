"""Receptive fields: known theoretical sizes, and the shape of effective ones."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
import torchvision
from torch import nn

from av_stack.cli.main import main
from perception.networks.receptive_field import effective_field, layers_of, theoretical_fields
from tests.forked import forked


def sizes(model: nn.Module, layers: list[str] | None = None, height: int = 512) -> dict[str, int]:
    return {field.name: field.size_px for field in theoretical_fields(model, layers, (height, 64))}


def test_resnet_18_has_its_known_fields() -> None:
    found = sizes(torchvision.models.resnet18(weights=None), ["conv1", "maxpool", *(f"layer{k}" for k in range(1, 5))])
    assert found == {"conv1": 7, "maxpool": 11, "layer1": 43, "layer2": 99, "layer3": 211, "layer4": 435}


def test_vgg_16_has_its_known_fields() -> None:
    blocks = {"4": 6, "9": 16, "16": 44, "23": 100, "30": 212}
    assert sizes(torchvision.models.vgg16(weights=None).features, list(blocks)) == blocks


def test_the_recursion_of_the_textbook_is_reproduced() -> None:
    """Araujo et al., 2019: r += (k - 1) * dilation * stride so far."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        layers: list[nn.Module] = []
        size, stride, expected = 1, 1, {}
        for number in range(6):
            kernel, step, dilation = int(rng.choice([1, 3, 5])), int(rng.choice([1, 2])), int(rng.choice([1, 2]))
            layers.append(nn.Conv2d(3, 3, kernel, step, padding=dilation * (kernel // 2), dilation=dilation))
            size += (kernel - 1) * dilation * stride
            stride *= step
            expected[str(number)] = size
        assert sizes(nn.Sequential(*layers), height=1024) == expected


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.near, self.far = nn.Conv2d(3, 2, 1), nn.Conv2d(3, 2, 7, padding=3)
        self.last = nn.Conv2d(4, 1, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.cat([self.near(x), -torch.relu(self.far(x))], dim=1))  # type: ignore[no-any-return]


def test_a_field_is_that_of_the_widest_branch() -> None:
    assert sizes(Branches()) == {"near": 1, "far": 7, "last": 9}


def test_a_field_beyond_the_input_is_marked() -> None:
    (field,) = theoretical_fields(torchvision.models.resnet18(weights=None), ["layer4"], (256, 64))
    assert field.reaches_border
    assert field.size_px <= 256


def test_the_network_stays_as_it_is() -> None:
    model = Branches()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    theoretical_fields(model, None, (64, 64))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert layers_of(model) == ["near", "far", "last"]


def test_equal_convolutions_give_a_gaussian_of_known_width() -> None:
    """n averages over 3 px have a variance of n * 2 / 3 px^2; for uniform weights the field is their convolution."""
    count = 24
    chain = nn.Sequential(*(nn.Conv2d(1 if k else 3, 1, 3, padding=1, bias=False) for k in range(count)))
    for layer in chain:
        nn.init.constant_(layer.weight, 1.0)  # type: ignore[arg-type]
    field = effective_field(chain.double(), str(count - 1), [torch.rand(1, 3, 96, 96).double()])
    assert field.sigma_px == pytest.approx(np.sqrt(count * 2 / 3), rel=0.01)
    assert field.gaussian_fit > 0.995
    assert field.map.sum() == pytest.approx(1.0)
    assert field.size_px < 2 * count + 1  # smaller than the theoretical field


def test_a_box_is_no_gaussian() -> None:
    box = nn.Sequential(nn.Conv2d(3, 1, 31, padding=15, bias=False))
    nn.init.constant_(box[0].weight, 1.0)  # type: ignore[arg-type]
    field = effective_field(box, "0", [torch.rand(1, 3, 96, 96)])
    assert field.gaussian_fit < 0.8
    assert field.sigma_px == pytest.approx(np.sqrt((31**2 - 1) / 12), rel=0.01)


def test_the_command_writes_figures_and_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cv2.imwrite(str(tmp_path / "street.png"), np.random.default_rng(0).integers(0, 255, (72, 128, 3), dtype=np.uint8))
    done = command(
        "resnet18", "--layers", "layer1,layer4", "--effective", "layer2", "--pictures", ".", "--size", "96x64"
    )
    assert done.returncode == 0, done.stderr
    assert "layer4 (Sequential): 435 px, stride 32 px" in done.stdout
    record = json.loads((tmp_path / "out/receptive_field/receptive_field.json").read_text())
    assert [field["size_px"] for field in record["theoretical"]] == [43, 435]
    assert 0.0 < record["effective"][0]["sigma_px"] < 99.0
    picture = cv2.imread(str(tmp_path / "out/receptive_field/layer2.png"))
    assert picture is not None
    assert picture.shape == (64, 96, 3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("resnet19",), "resnet19: neither a weights file (.pt) nor a network of torchvision"),
        (("resnet18", "--layers", "layer9"), "resnet18 has no module layer9"),
        (("resnet18", "--size", "big"), "--size big: expected width and height"),
        (("none.pt",), "MODEL none.pt: no such file"),
    ],
)
def test_bad_input_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(*options)
    assert done.returncode == 2
    assert said in done.stderr


def command(*options: str) -> subprocess.CompletedProcess[str]:
    return forked(main, ("receptive-field", *options), 90.0)
