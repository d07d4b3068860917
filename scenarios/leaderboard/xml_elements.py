"""Reads untrusted XML into plain elements that know their line.

The parser is expat, because lxml gives the line where a start tag ends rather than the one where it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from av_core.errors import ConfigError

BYTES_MAX = 16 * 1024 * 1024
"""Largest file that is read; the largest official one has 1.2 MB."""

ELEMENTS_MAX = 300_000
"""Most elements of a file; the official ones have up to 25,000."""

DEPTH_MAX = 20
"""Deepest nesting of elements; a route file needs 5."""


@dataclass(slots=True)
class Element:
    """An XML element; `line` (from 1) is where its start tag begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)


class XmlError(ConfigError):
    """XML that cannot be read; `line` is where, and `args[0]` says what is wrong."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def read_elements(data: bytes) -> Element:
    """The root element of an XML document. Raises XmlError where it is not well-formed or is not allowed.

    Not allowed are document type declarations, which can define entities that grow without bounds or name other
    files, and more than `BYTES_MAX`, `ELEMENTS_MAX` or `DEPTH_MAX`.
    """
    if len(data) > BYTES_MAX:
        raise XmlError(f"larger than {BYTES_MAX >> 20} MiB, the most that is allowed", 1)
    if not data.strip():
        raise XmlError("the file is empty; expected XML", 1)
    builder = _Builder()
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise XmlError(f"not well-formed XML: {expat.errors.messages[error.code]}", error.lineno) from None
    except (
        LookupError,
        ValueError,
    ) as error:  # an encoding that Python does not know, or with several bytes a character
        raise XmlError(f"not XML in UTF-8: {error}", 1) from None
    return builder.root


class _Builder:
    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._open: list[Element] = []
        self._count = 0

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        self._count += 1
        if self._count > ELEMENTS_MAX:
            raise XmlError(f"more than {ELEMENTS_MAX} elements, the most that is allowed", line)
        if len(self._open) >= DEPTH_MAX:
            raise XmlError(f"nested more than {DEPTH_MAX} levels deep", line)
        element = Element(tag, attributes, line)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _refuse_doctype(self, *declared: object) -> None:
        line = self.parser.CurrentLineNumber
        raise XmlError("a document type declaration (<!DOCTYPE) is not allowed", line)
