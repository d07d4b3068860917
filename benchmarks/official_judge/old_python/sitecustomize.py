"""Gives elements of XML their method `getchildren` back, which Python 3.9 removed and the Leaderboard's code calls.

Python imports a module of this name at its start. Only elements in Python can get a method, so those in C are left out.
"""

from __future__ import annotations

import sys
from typing import Any

sys.modules["_elementtree"] = None  # type: ignore[assignment]  # the documented way to forbid an import

from xml.etree import ElementTree  # noqa: E402 - the line above must come first


def _children(element: Any) -> list[Any]:
    return list(element)


ElementTree.Element.getchildren = _children  # type: ignore[attr-defined]
