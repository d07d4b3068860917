"""Sound maps to mutate: hand-made roads, and junctions with their roads cut out of towns."""

from __future__ import annotations

import copy
import math
import os
import random
from functools import cache
from pathlib import Path
from typing import Any

from lxml import etree

from embedded_carla.maps import OWN_MAPS

Element = Any

_PIECE_M = 30.0
_SHAPES = (  # they bend so little that the next piece begins near enough
    "<line/>",
    '<arc curvature="0.001"/>',
    '<spiral curvStart="0" curvEnd="0.002"/>',
    '<poly3 a="0" b="0" c="0.0004" d="0.000001"/>',
    '<paramPoly3 pRange="normalized" aU="0" bU="30" cU="0" dU="0" aV="0" bV="0" cV="0.6" dV="-0.2"/>',
    '<paramPoly3 pRange="arcLength" aU="0" bU="1" cU="0" dU="0" aV="0" bV="0" cV="0.0004" dV="0"/>',
)
_FURNITURE = (
    '<objects><object id="9{i}" type="crosswalk" name="c" s="10" t="0" zOffset="0" hdg="0" length="4" width="8">'
    '<outline><cornerLocal u="-2" v="-4" z="0"/><cornerLocal u="2" v="-4" z="0"/><cornerLocal u="2" v="4" z="0"/>'
    '<cornerLocal u="-2" v="4" z="0"/></outline></object></objects><signals><signal id="{i}1" name="s" s="30" t="-5" '
    'zOffset="0" hOffset="0" orientation="+" dynamic="yes" type="1000001" subtype="-1" value="-1" height="1" '
    'width="0.5"><validity fromLane="-1" toLane="-1"/></signal><signal id="{i}2" name="v" s="20" t="-5" zOffset="2" '
    'orientation="+" dynamic="no" type="274" subtype="50" value="50" unit="km/h" height="0.7" width="0.7"/>'
    '<signalReference s="5" t="0" id="{i}1" orientation="+"><validity fromLane="-1" toLane="-1"/></signalReference>'
    "</signals>"
)


def _lane(number: int, kind: str, width: float = 3.5) -> str:
    link = f'<link><predecessor id="{number}"/><successor id="{number}"/></link>' if number else ""
    profile = f'<width sOffset="0" a="{width}" b="0" c="0" d="0"/>' if number else ""
    mark = '<roadMark sOffset="0" type="broken" color="white" width="0.12" laneChange="both"/>'
    return f'<lane id="{number}" type="{kind}" level="false">{link}{profile}{mark}</lane>'


def _section(s: float, left: tuple[str, ...], right: tuple[str, ...]) -> str:
    sides = "".join(_lane(len(left) - i, kind) for i, kind in enumerate(left))
    others = "".join(_lane(-1 - i, kind) for i, kind in enumerate(right))
    return (
        f'<laneSection s="{s}"><left>{sides}</left><center>{_lane(0, "none")}</center><right>{others}</right>'
        "</laneSection>"
    )


def _road(
    number: int, pieces: tuple[str, ...], *, before: int = 0, after: int = 0, sections: tuple[float, ...] = (0.0,),
    left: tuple[str, ...] = ("driving", "sidewalk"), right: tuple[str, ...] = ("driving", "sidewalk"), plan: str = "",
) -> str:  # fmt: skip
    """Pieces of 30 m along the x axis, or the plan view `plan` of the same length."""
    length = _PIECE_M * len(pieces)
    plan = plan or "".join(
        f'<geometry s="{_PIECE_M * i}" x="{_PIECE_M * i + length * number}" y="0" hdg="0" length="{_PIECE_M}">'
        f"{shape}</geometry>"
        for i, shape in enumerate(pieces)
    )
    rows = (("predecessor", before, "end"), ("successor", after, "start"))
    links = "".join(f'<{t} elementType="road" elementId="{i}" contactPoint="{c}"/>' for t, i, c in rows if i)
    made = "".join(_section(s, left[::-1], right) for s in sections)
    offsets = "".join(f'<laneOffset s="{s}" a="0" b="0" c="0" d="0"/>' for s in sections)
    return (
        f'<road name="" length="{length}" id="{number}" junction="-1"><link>{links}</link>'
        f'<type s="0" type="town"><speed max="50" unit="km/h"/></type><planView>{plan}</planView><elevationProfile>'
        '<elevation s="0" a="0" b="0.01" c="0" d="0"/><elevation s="20" a="0.2" b="0" c="0" d="0"/></elevationProfile>'
        '<lateralProfile><superelevation s="0" a="0.01" b="0" c="0" d="0"/></lateralProfile>'
        f"<lanes>{offsets}{made}</lanes>{_FURNITURE.format(i=number)}</road>"
    )


def _ring() -> list[str]:
    """Three roads, each a third of a circle."""
    length = 2.0 * _PIECE_M
    radius = 3.0 * length / math.tau
    rows = []
    for number, (before, after) in {1: (3, 2), 2: (1, 3), 3: (2, 1)}.items():
        angle = math.tau * number / 3.0
        plan = (
            f'<geometry s="0" x="{radius * math.cos(angle)}" y="{radius * math.sin(angle)}" '
            f'hdg="{angle + math.pi / 2.0}" length="{length}"><arc curvature="{1.0 / radius}"/></geometry>'
        )
        rows.append(_road(number, ("<line/>",) * 2, before=before, after=after, plan=plan))
    return rows


def _town(*roads: str) -> Element:
    return etree.fromstring(
        f'<OpenDRIVE><header revMajor="1" revMinor="4" name="" version="1"/>{"".join(roads)}</OpenDRIVE>'
    )


def _hand_made() -> list[Element]:
    line, curves = ("<line/>", "<line/>"), _SHAPES
    both = ("bidirectional",)
    return [
        _town(_road(1, line)),
        _town(_road(1, curves, after=2), _road(2, curves[::-1], before=1)),
        _town(_road(1, line, after=2, sections=(0.0, 20.0, 40.0)), _road(2, line, before=1, sections=(0.0, 55.0))),
        _town(*_ring()),
        _town(_road(1, line, left=(*both, "driving", "sidewalk"), sections=(0.0, 30.0))),
        _town(_road(1, curves, left=(), right=("shoulder", *both, "driving", "parking"))),
        *(_town(_road(1, (shape, shape))) for shape in curves),
    ]


def _cuttings(root: Element) -> list[Element]:
    """Per junction of a town: its connecting roads and the roads they connect."""
    roads = {road.get("id"): road for road in root.iterfind("road")}
    made = []
    for junction in root.iterfind("junction"):
        ids = {c.get(key) for c in junction.iterfind("connection") for key in ("incomingRoad", "connectingRoad")}
        ids |= {link.get("elementId") for i in ids & set(roads) for link in roads[i].iterfind("link/*")}
        kept = [roads[i] for i in roads if i in ids]
        if 2 < len(kept) < 30:
            part = etree.Element("OpenDRIVE")
            part.extend(copy.deepcopy(e) for e in [*root.findall("header"), *kept, *root.findall("controller")])
            part.append(copy.deepcopy(junction))
            made.append(part)
    return made


@cache
def seeds() -> tuple[tuple[Element, ...], ...]:
    """Groups of sound maps; a group for each town."""
    folders = [OWN_MAPS]
    if os.environ.get("AV_STACK_DATA"):
        folders.append(Path(os.environ["AV_STACK_DATA"]) / "maps")
    parser = etree.XMLParser(huge_tree=True, remove_comments=True, remove_blank_text=True)
    towns = [etree.parse(path, parser).getroot() for folder in folders for path in sorted(folder.glob("*.xodr"))]
    return (tuple(_hand_made()), *(tuple(_cuttings(town)) for town in towns))


def seed_map(rng: random.Random) -> Element:
    """A sound map that may be changed: half are hand-made, half cut out of towns."""
    made, *towns = seeds()
    group = made if rng.random() < 0.5 else rng.choice([town for town in towns if town])
    return copy.deepcopy(rng.choice(group))
