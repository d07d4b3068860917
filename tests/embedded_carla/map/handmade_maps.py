"""Small OpenDRIVE texts to test on."""

from __future__ import annotations

LANES = """
<left><lane id="2" type="sidewalk"><width sOffset="0" a="2" b="0" c="0" d="0"/></lane>
<lane id="1" type="driving"><width sOffset="0" a="3.5" b="0" c="0" d="0"/>
<roadMark sOffset="0" type="none" color="white"/></lane></left>
<center><lane id="0" type="none"><roadMark sOffset="0" type="{mark}" color="yellow" width="0.12"/></lane></center>
<right><lane id="-1" type="driving"><width sOffset="0" a="3.5" b="0" c="0" d="0"/>{right_mark}</lane>
<lane id="-2" type="sidewalk"><width sOffset="0" a="2" b="0" c="0" d="0"/></lane></right>
"""


def road(
    road_id: int = 1, *, length: float = 100.0, shape: str = "<line/>", mark: str = "solid", right_mark: str = "",
    sections: tuple[float, ...] = (0.0,), junction: int = -1, extra: str = "", y: float = 0.0, elevation: str = "",
    kind: str = "", link: str = "",
) -> str:  # fmt: skip
    """One road along +x from (0, y) with a driving lane and a pavement on either side."""
    lanes = LANES.format(mark=mark, right_mark=right_mark)
    section = "".join(f'<laneSection s="{s}">{lanes}</laneSection>' for s in sections)
    return (
        f'<road name="" length="{length}" id="{road_id}" junction="{junction}"><link>{link}</link>{kind}<planView>'
        f'<geometry s="0" x="0" y="{y}" hdg="0" length="{length}">{shape}</geometry></planView>'
        f"<elevationProfile>{elevation}</elevationProfile><lanes>{section}</lanes>{extra}</road>"
    )


def town(*roads: str, extra: str = "") -> str:
    """A whole file."""
    return (
        '<?xml version="1.0"?><OpenDRIVE><header revMajor="1" revMinor="4" name="" version="1">'
        "<geoReference><![CDATA[+proj=tmerc +lat_0=49.5 +lon_0=8.25 +k=1]]></geoReference></header>"
        f"{''.join(roads)}{extra}</OpenDRIVE>"
    )
