"""Names the file formats that are easily taken for a Leaderboard 2 route file."""

from __future__ import annotations

from scenarios.leaderboard.xml_elements import Element, XmlError

NEEDED = "expected a Leaderboard 2 route file, whose root element is <routes>"

_BY_ROOT = {
    "OpenSCENARIO": "an OpenSCENARIO 1 scenario (.xosc)",
    "OpenDRIVE": "an OpenDRIVE map (.xodr)",
    "scenarios": "a configuration of single scenarios for scenario_runner",
    "osm": "an OpenStreetMap map (.osm)",
    "net": "a SUMO network (.net.xml)",
    "sumoConfiguration": "a SUMO configuration (.sumocfg)",
    "additional": "a SUMO additional file",
    "route": "a single <route> without <routes> around it",
}


def refuse_other_formats(data: bytes, root: Element | None = None) -> None:
    """Raise XmlError that names the format, unless it can be (without `root`) or is (with it) a Leaderboard 2 file."""
    if root is None:
        start = data[:4096].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
        if start.startswith(("{", "[")):
            raise XmlError(f"this is JSON, as Leaderboard 1 has for its scenarios; {NEEDED}", 1)
        if start.startswith(("import ", "scenario ", "# OpenSCENARIO")):
            raise XmlError(f"this is an OpenSCENARIO 2 scenario (.osc); {NEEDED}", 1)
        if start and "\x00" not in start and not start.startswith("<"):
            raise XmlError(f"this is not XML; {NEEDED}", 1)
        return
    if root.tag in _BY_ROOT:
        raise XmlError(f"this is {_BY_ROOT[root.tag]}; {NEEDED}", root.line)
    if root.tag != "routes":
        raise XmlError(f"the root element is <{root.tag[:60]}>; {NEEDED}", root.line)
    for route in root.children:
        if any(child.tag == "waypoint" for child in route.children):
            raise XmlError(
                "this is a Leaderboard 1 route, with <waypoint> in <route>; expected a Leaderboard 2 route, with "
                "<position> in <waypoints>",
                route.line,
            )
