"""OpenDRIVE texts that no honest client sends."""

from __future__ import annotations

import random

_HEAD = '<?xml version="1.0"?><OpenDRIVE><header revMajor="1" revMinor="4"/>'
_LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
BOMB = (
    f'<?xml version="1.0"?><!DOCTYPE OpenDRIVE [<!ENTITY l0 "ha">{_LAUGHS}]>'
    '<OpenDRIVE><header revMajor="1" name="&l9;">&l9;</header></OpenDRIVE>'
)
EXTERNAL = (
    '<?xml version="1.0"?><!DOCTYPE OpenDRIVE [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    '<OpenDRIVE><header revMajor="1">&x;</header></OpenDRIVE>'
)


def road(
    number: object = 1, length: object = 100, x: object = 0, y: object = 0, heading: object = 0, width: object = 3.5,
    shape: str = "<line/>", section: object = 0, elevation: object = 0,
) -> str:  # fmt: skip
    """One straight road with two lanes; any value may be senseless."""
    lane = f'<link/><width sOffset="0" a="{width}" b="0" c="0" d="0"/><roadMark sOffset="0" type="solid" width="0.12"/>'
    return (
        f'<road name="r" length="{length}" id="{number}" junction="-1"><link/><planView><geometry s="0" x="{x}" '
        f'y="{y}" hdg="{heading}" length="{length}">{shape}</geometry></planView><elevationProfile>'
        f'<elevation s="0" a="{elevation}" b="0" c="0" d="0"/></elevationProfile><lateralProfile/><lanes>'
        f'<laneSection s="{section}"><left><lane id="1" type="sidewalk" level="false">{lane}</lane></left><center>'
        f'<lane id="0" type="none" level="false"/></center><right><lane id="-1" type="driving" level="false">{lane}'
        "</lane></right></laneSection></lanes></road>"
    )


def town(*roads: str) -> str:
    return f"{_HEAD}{''.join(roads)}</OpenDRIVE>"


_SENSELESS = ("nan", "inf", "-1", "0", "1e308", "1e9", "-1e9", "1e5", "1e-9", "", "abc", "9" * 400)


def evil_map(rng: random.Random) -> str:
    """A bomb, a truncated or senseless text, or a road whose numbers make no sense."""
    kind = rng.randrange(9)
    if kind == 0:
        return rng.choice((BOMB, EXTERNAL))
    if kind == 1:
        return rng.choice(("", "no xml", _HEAD, "<a>" * 5000, f"{_HEAD}</OpenDRIVE>", "\udcff" + town(road())))
    if kind == 2:
        whole = town(road())
        return whole[: rng.randrange(len(whole))]
    if kind == 3:
        return town(*(road(number=i, x=100 * i) for i in range(rng.randrange(1, 30))))
    wrong = {
        name: rng.choice(_SENSELESS)
        for name in rng.sample(("number", "length", "x", "y", "heading", "width", "section", "elevation"), 1)
    }
    if rng.random() < 0.3:
        wrong["shape"] = rng.choice((
            f'<arc curvature="{rng.choice(_SENSELESS)}"/>',
            f'<spiral curvStart="0" curvEnd="{rng.choice(_SENSELESS)}"/>',
            '<paramPoly3 aU="0" bU="1e300" cU="0" dU="0" aV="0" bV="0" cV="0" dV="1e300"/>',
        ))  # fmt: skip
    return town(road(**wrong))
