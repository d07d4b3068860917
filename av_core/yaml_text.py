"""Reads untrusted YAML files: size, nesting and number of values are bounded, and every error is one line."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any, cast

import yaml

from av_core.errors import ConfigError

SIZE_MAX_BYTES = 200_000
DEPTH_MAX = 20
"""Largest nesting of lists and mappings; the project's own files nest at most 4 deep."""
VALUES_MAX = 10_000
"""Largest number of values in one file, counting an alias (`*name`) as all the values that it stands for."""
SHOWN_CHARS = 40
"""Length to which values are cut in error messages."""


def read_yaml(path: Path) -> Any:
    """The content of one YAML file as plain Python values; None when the file is empty.

    Raises ConfigError that names the file and, where possible, the line, when the file cannot be read, is no regular
    file, is too large, is not UTF-8, is not YAML, repeats a key, nests too deeply or expands to too many values.
    """
    text = _read_text(path)
    try:
        loader = _BoundedLoader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{path}: line {line}: character {error.character!r} is not allowed in YAML") from None
    except _ContentError as error:
        raise ConfigError(f"{path}: {_line(error)}{error.problem}") from None
    except yaml.composer.ComposerError as error:
        problem = "a second document begins; one is allowed" if error.context_mark else error.problem
        raise ConfigError(f"{path}: {_line(error)}{problem}") from None
    except yaml.MarkedYAMLError as error:
        raise ConfigError(f"{path}: {_line(error)}not YAML: {error.problem or error.context}") from None


def _line(error: yaml.MarkedYAMLError) -> str:
    return f"line {error.problem_mark.line + 1}: " if error.problem_mark is not None else ""


def _read_text(path: Path) -> str:
    try:
        if "\0" in str(path):
            raise ConfigError(f"{str(path)!r}: no file name")
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigError(f"{path}: not a file" if path.is_dir() else f"{path}: not a regular file")
        with path.open("rb") as file:
            data = file.read(SIZE_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if len(data) > SIZE_MAX_BYTES:
        raise ConfigError(f"{path}: larger than {SIZE_MAX_BYTES // 1000} kB, the most that is allowed")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}: line {line}: byte 0x{data[error.start]:02x} is not UTF-8 text") from None


class _ContentError(yaml.MarkedYAMLError):
    """Well-formed YAML whose content is not allowed."""

    def __init__(self, problem: str, mark: Any) -> None:
        super().__init__(problem=problem, problem_mark=mark)


class _BoundedLoader(yaml.SafeLoader):
    """A safe loader that refuses deep nesting, aliases that multiply, and repeated keys."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._values = 0
        self._sizes: dict[yaml.Node, tuple[int, int]] = {}  # (values, depth) of each complete node

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event, values_before = cast(yaml.NodeEvent, self.peek_event()), self._values  # type: ignore[no-untyped-call]
        self._depth += 1
        self._check_depth(self._depth, event.start_mark)  # before the recursion
        node = super().compose_node(parent, index)
        assert node is not None
        if isinstance(event, yaml.AliasEvent):
            if node not in self._sizes:
                raise _ContentError(f"alias *{event.anchor} contains itself", event.start_mark)
            values, depth = self._sizes[node]
            self._check_depth(self._depth + depth - 1, event.start_mark)
            self._values += values
        else:
            self._values += 1
            depth = 1 + max((self._sizes[child][1] for child in _children(node)), default=0)
            self._sizes[node] = self._values - values_before, depth
        if self._values > VALUES_MAX:
            raise _ContentError(f"more than {VALUES_MAX} values, counting what aliases stand for", event.start_mark)
        self._depth -= 1
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                line = key.start_mark.line + 1
                if key.value in lines:
                    shown = key.value[:SHOWN_CHARS]
                    raise _ContentError(
                        f"key {shown} is repeated; it is first in line {lines[key.value]}", key.start_mark
                    )
                lines[key.value] = line
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):  # a date of month 13, !!int abc, ...
            kind = node.tag.rsplit(":", 1)[-1]
            shown = repr(node.value[:SHOWN_CHARS]) if isinstance(node, yaml.ScalarNode) else "this"
            raise _ContentError(f"{shown} cannot be read as {kind}", node.start_mark) from None

    @staticmethod
    def _check_depth(depth: int, mark: Any) -> None:
        if depth > DEPTH_MAX:
            raise _ContentError(f"nested more than {DEPTH_MAX} levels deep", mark)


def _refuse_tag(_loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    raise _ContentError(f"tag {node.tag[:SHOWN_CHARS]} is not allowed", node.start_mark)


_BoundedLoader.add_constructor(None, _refuse_tag)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []
