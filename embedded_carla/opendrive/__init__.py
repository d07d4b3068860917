"""OpenDRIVE 1.4 parser: reads, checks and repairs a map's text, and returns its `RoadNetwork`."""

from __future__ import annotations

from typing import Any

from lxml import etree

from embedded_carla.errors import MapError
from embedded_carla.opendrive.check import repair
from embedded_carla.opendrive.extent import refuse_extent
from embedded_carla.opendrive.network import RoadNetwork
from embedded_carla.opendrive.read import read_network

__all__ = ["RoadNetwork", "parse"]


def parse(text: str, name: str) -> RoadNetwork:
    """The road network of an OpenDRIVE text. Raises MapError, one line, if it is not XML or not a usable map.

    If the text needs no repair, `RoadNetwork.xodr_text` is the text itself, so that clients get the file byte for byte.
    """
    if not text.strip():
        raise MapError(f"map {name}: the file is empty")
    if "<!DOCTYPE" in text:  # its entities can grow without bounds, even unresolved, and OpenDRIVE has none
        raise MapError(f"map {name}: a document type declaration (<!DOCTYPE) is not allowed")
    parser = etree.XMLParser(huge_tree=True, resolve_entities=False, no_network=True, remove_comments=True)
    try:
        root = etree.fromstring(text.lstrip().encode("utf-8"), parser)
    except etree.XMLSyntaxError as error:
        raise MapError(f"map {name}: {_why(text, error)}") from error
    _drop_namespaces(root)
    repairs = repair(root, name)
    if repairs:
        text = etree.tostring(root, encoding="unicode")
    network = read_network(root, name, text, tuple(repairs))
    refuse_extent(network)
    return network


def _drop_namespaces(root: Any) -> None:
    """Strip namespaces from tag names: the wheel reads a file with a default namespace like any other."""
    for element in root.iter("{*}*"):
        element.tag = etree.QName(element).localname
    etree.cleanup_namespaces(root)


def _why(text: str, error: etree.XMLSyntaxError) -> str:
    if not text.lstrip("\ufeff \t\r\n").startswith("<"):
        return "not XML"
    if "<OpenDRIVE" in text and "</OpenDRIVE>" not in text:
        return f"truncated: the text ends in line {error.lineno} without </OpenDRIVE>"
    return f"not well-formed XML: {error.msg}"
