"""Precision of networks as they were written for the CPU, against the float network: what a drive would use.

    python -m benchmarks.networks.written SET RECORD.json --float detector_n.pt --written NAME=q/detector_n.pt

SET is a folder of `benchmarks.networks.detectors`. Each of --written is a name and a weights file beside which
`av-stack quantize` or `av-stack export` wrote a network.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.__main__ import machine
from benchmarks.networks.picture_set import pictures
from benchmarks.networks.pruned import precision
from perception.detection.networks import OpenVinoNetwork
from perception.detection.weights import COMPACT_SIZE_PX, Exported, exported
from perception.networks.detectors import folded_detector, write_network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("set", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("--float", type=Path, required=True, dest="plain")
    parser.add_argument("--written", nargs="+", required=True, help="NAME=WEIGHTS")
    parser.add_argument("--rounds", type=int, default=4)
    given = parser.parse_args()
    shown = list(pictures(given.set, given.rounds))
    record: dict[str, Any] = {"machine": machine(), "pictures": len(shown), "networks": {}}
    with TemporaryDirectory() as work:
        networks = {"float32": write_network(folded_detector(given.plain), given.plain, COMPACT_SIZE_PX, Path(work))}
        for one in given.written:
            name, _, weights = one.partition("=")
            networks[name] = _beside(Path(weights))
        for name, network in networks.items():
            size_mb = round(network.model.with_suffix(".bin").stat().st_size / 1e6, 3)
            found = {"map": precision(OpenVinoNetwork(network, threads=1), shown), "mb": size_mb}
            record["networks"][name] = found
            print(name, found, flush=True)
    given.record.write_text(json.dumps(record, indent=1) + "\n")


def _beside(weights: Path) -> Exported:
    """The network beside a weights file; raises FileNotFoundError where there is none."""
    made = exported(weights, COMPACT_SIZE_PX)
    if made.model.parent != weights.parent:
        raise FileNotFoundError(f"no network beside {weights}")
    return made


if __name__ == "__main__":
    main()
