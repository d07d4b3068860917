"""Fits and evaluates the classifiers of traffic light states: `python -m benchmarks.lamps fit|measure|cross`.

Signal heads come from CARLA's pictures, `$AV_STACK_DATA/carla_unreal` with the states of
`av_stack/evaluation/carla_unreal_lamps.json`, and from data sets of the embedded server (`av-stack dataset`). Town02 of
both is held back: no fit sees it.

`fit` writes `perception/weights/head_states.json` and `lamp_states.json`. `measure` writes the shipped classifier's
confusion tables, calibration and cost. `cross` fits again without CARLA's pictures, and without each of CARLA's towns,
and measures on what was left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from av_core.types import LightState
from av_stack.evaluation.lights import LabelledHead, unreal_heads
from benchmarks.lamps.heads import HELD_BACK, own_heads, patches, town
from benchmarks.lamps.measure import calibration, confusion, cost_ms, summary
from benchmarks.lamps.network import calibrated, samples
from benchmarks.lamps.post import fit_lamps, lamp_confusion
from perception.detection.classes import LIGHT_STATES
from perception.lights import lamp_states
from perception.lights.head_states import COEFFICIENTS, HeadModel, save_model, shipped_model

SEED = 0


def fit(heads: Sequence[LabelledHead]) -> None:
    """Fit both classifiers on the towns that are not held back, and write their coefficients."""
    rng = np.random.default_rng(SEED)
    known = patches([head for head in heads if town(head) != HELD_BACK])
    model = calibrated(samples(known, rng), rng)
    save_model(model, COEFFICIENTS, {"heads": len(known)})
    lit = [patch for patch in known if patch.head.state is not LightState.OFF]
    table = {"states": [state.value for state in LIGHT_STATES], "heads": len(lit)}
    lamps = {"post": np.round(fit_lamps(lit, rng), 4).tolist()}
    lamp_states.COEFFICIENTS.write_text(json.dumps({**table, **lamps}, indent=1) + "\n")


def measure(heads: Sequence[LabelledHead]) -> dict[str, Any]:
    """Tables of the shipped classifier, on the towns of the fit and on the one held back."""
    out: dict[str, Any] = {}
    for name, is_held in (("fitted on", False), ("held back", True)):
        some = [head for head in heads if (town(head) == HELD_BACK) is is_held]
        out[name] = _tables(some, shipped_model())
        out[name]["lamps without their head"] = lamp_confusion(patches([one for one in some if not one.is_aside]))
    out["ms_per_head"] = cost_ms(heads)
    return out


def cross(heads: Sequence[LabelledHead]) -> dict[str, Any]:
    """Tables of classifiers that were fitted without what they are measured on; Town02 is in none of the fits."""
    rng = np.random.default_rng(SEED)
    rows = samples(patches([head for head in heads if town(head) != HELD_BACK]), rng)
    unreal = [head for head in heads if head.source == "carla_unreal"]
    is_own = np.char.startswith(rows.town, "own ")
    out: dict[str, Any] = {"own pictures only": _tables(unreal, calibrated(rows.select(is_own), rng))}
    for name in sorted({town(head) for head in unreal} - {HELD_BACK}):
        left_out = np.char.endswith(rows.town, f" {name}")
        some = [head for head in unreal if town(head) == name]
        out[f"without {name}"] = _tables(some, calibrated(rows.select(~left_out), rng))
    return out


def _tables(heads: Sequence[LabelledHead], model: HeadModel) -> dict[str, Any]:
    rng = np.random.default_rng(SEED)
    out: dict[str, Any] = {}
    for name, shake in (("labelled boxes", False), ("boxes with errors", True)):
        table = confusion(heads, rng, shake, model)
        by_source = {
            source: summary({key: row for key, row in table.items() if key.startswith(f"{source},")})
            for source in sorted({head.source for head in heads})
        }
        out[name] = {"16 px and more": by_source, "all": table}
    facing = [head for head in heads if not head.is_aside]
    out["calibration"] = calibration(facing, rng, model)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lamps", description=__doc__)
    parser.add_argument("what", choices=("fit", "measure", "cross"))
    parser.add_argument(
        "--own", type=Path, action="append", default=[], help="data set of av-stack dataset; repeatable"
    )
    parser.add_argument("--unreal", type=Path, help="folder carla_unreal")
    parser.add_argument("--out", type=Path, help="file for the tables, which are added under the command's name")
    options = parser.parse_args()
    heads = [head for folder in options.own for head in own_heads(folder)]
    heads += list(unreal_heads(options.unreal)) if options.unreal else []
    if options.what == "fit":
        fit(heads)
        return
    result = {options.what: measure(heads) if options.what == "measure" else cross(heads)}
    if options.out:
        kept = json.loads(options.out.read_text()) if options.out.exists() else {}
        options.out.write_text(json.dumps({**kept, **result}, indent=1) + "\n")
    else:
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
