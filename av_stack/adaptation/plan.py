"""Plans which pictures of a server are used for training and which are held back to measure on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from av_core.errors import ConfigError
from av_core.suggest import did_you_mean
from av_stack.dataset import TRAINING, DatasetSpec
from av_stack.world.carla.capture.shots import CaptureSpec

LARGE_MAPS = ("Town11", "Town12", "Town13")
"""CARLA's large maps, which are not used: there CARLA 0.9.16 gives wrong ids in instance segmentation pictures."""

USUAL_HOLD_BACK = "Town02"
"""Town that is held back if the server has it: the shipped detector was not trained on it."""

HELD_BACK_SHARE = 0.25
"""Fraction of the pictures that is held back."""

OWN_MAPS = ("city_grid", "country_road", "motorway")
"""Towns of the embedded server; their pictures preserve the detector's present knowledge."""

EPISODE = CaptureSpec(
    "", 0, fov_deg=TRAINING.fov_deg, views=6, scenes=2, shots=2, guests=24, guests_m=TRAINING.guests_m
)
"""Options that all episodes share: few pictures in each town and weather.

The numbers on speed limit signs are not changed, because a map with other numbers would lose the server's buildings."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The pictures to take.

    * `learn`: pictures of the server for training.
    * `held_back`: pictures of the server to measure on.
    * `own`: pictures of the embedded server for training.
    * `note`: how the held-back pictures differ from the training pictures, for the report.
    """

    learn: DatasetSpec
    held_back: DatasetSpec
    own: DatasetSpec
    note: str


def towns_of(available: Sequence[str]) -> list[str]:
    """Sorted names of the towns among the map paths that a server lists, without the large maps.

    NAME_Opt (CARLA's map with layers) is listed only if the server has no NAME.
    """
    names = {path.rsplit("/", 1)[-1] for path in available}
    names -= {f"{name}_Opt" for name in names}
    return sorted(name for name in names if name.removesuffix("_Opt") not in LARGE_MAPS)


def make_plan(
    towns: Sequence[str], presets: Sequence[str], pictures: int, hold_back: str | None, episode: CaptureSpec = EPISODE
) -> Plan:
    """Divide a number of `pictures` over `towns`; `hold_back` names the town to measure on, None chooses one.

    With a single town, the weather `presets` are divided instead. Raises ConfigError if `hold_back` is not in `towns`.
    """
    if hold_back is not None and hold_back not in towns:
        raise ConfigError(
            f"--hold-back: the server has no town {hold_back!r:.80}{did_you_mean(hold_back, towns)}; "
            f"it has {', '.join(towns)}"
        )
    held = max(round(HELD_BACK_SHARE * pictures), 1)
    own = DatasetSpec("train", OWN_MAPS, pictures - held, replace(episode, redraw_limits=True))
    if len(towns) == 1:
        learn, back = replace(episode, weathers=tuple(presets[::2])), replace(episode, weathers=tuple(presets[1::2]))
        note = f"the server has one town, {towns[0]}: other places and weathers of it are held back, not a town"
        return Plan(DatasetSpec("train", (*towns,), pictures - held, learn), DatasetSpec("val", (*towns,), held, back),
                    own, note)  # fmt: skip
    chosen = hold_back or (USUAL_HOLD_BACK if USUAL_HOLD_BACK in towns else towns[-1])
    others = tuple(town for town in towns if town != chosen)
    return Plan(
        DatasetSpec("train", others, pictures - held, episode),
        DatasetSpec("val", (chosen,), held, episode),
        own,
        f"the town {chosen} is held back",
    )
