"""All unit shapes on the GPU in one vertex buffer and one index buffer, so that one call draws many shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.shapes.geometry import WIDTH, Shape

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Key = tuple[str, str, int]  # kind, model or number, level
KINDS = ("object", "facade", "foliage", "sign")  # shading kinds, in drawing order
SCENERY = "~"  # first part of scenery keys: sorts after actors, which occlude the scenery


class ShapePool:
    """Unit shapes by number, built when first drawn; the drawing order depends only on their keys."""

    def __init__(self, ctx: Any, make: Callable[[Key], Shape]) -> None:
        self._ctx = ctx
        self._make = make
        self._numbers: dict[Key, int] = {}
        self._kinds: list[int] = []
        self._parts: dict[str, list[bytes]] = {"vertices": [], "indices": []}
        self._used = {"vertices": 0, "indices": 0}  # bytes
        self._buffers: dict[str, Any] = {}
        self.version = 0  # version of the buffers; vertex arrays of an older version are invalid
        self.kind: I32 = np.zeros(0, dtype=np.int32)
        self.by_rank: I64 = np.zeros(0, dtype=np.int64)
        self.index_count: I64 = np.zeros(0, dtype=np.int64)
        self.first_index: I64 = np.zeros(0, dtype=np.int64)
        self.base_vertex: I64 = np.zeros(0, dtype=np.int64)

    def number(self, key: Key, kind: str = "object") -> int:
        """The number of the shape `key`, shaded as `kind`."""
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers)
            self._kinds.append(KINDS.index(kind))
        return self._numbers[key]

    def sort(self) -> None:
        """Include newly numbered shapes in the drawing order; call before drawing them."""
        new = len(self._kinds) - len(self.kind)
        if new == 0:
            return
        self.kind = np.array(self._kinds, dtype=np.int32)
        keys = list(self._numbers)
        order = sorted(range(len(keys)), key=lambda n: (self._kinds[n], keys[n]))
        self.by_rank = np.array(order, dtype=np.int64)
        nothing = np.zeros(new, dtype=np.int64)
        self.index_count = np.concatenate([self.index_count, nothing])
        self.first_index = np.concatenate([self.first_index, nothing])
        self.base_vertex = np.concatenate([self.base_vertex, nothing])

    def ensure(self, numbers: Iterable[int]) -> None:
        """Build those shapes that are not built yet."""
        keys = list(self._numbers)
        for n in numbers:
            if self.index_count[n]:
                continue
            shape = self._make(keys[n])
            self.first_index[n] = self._used["indices"] // 4
            self.base_vertex[n] = self._used["vertices"] // (4 * WIDTH)
            self.index_count[n] = shape.triangles.size
            self._store("vertices", np.ascontiguousarray(shape.vertices, dtype=np.float32).tobytes())
            self._store("indices", np.ascontiguousarray(shape.triangles, dtype=np.uint32).tobytes())

    def _store(self, name: str, data: bytes) -> None:
        buffer, at = self._buffers.get(name), self._used[name]
        self._parts[name].append(data)
        self._used[name] += len(data)
        if buffer is not None and self._used[name] <= buffer.size:
            buffer.write(data, offset=at)
            return
        if buffer is not None:
            buffer.release()
        grown = self._buffers[name] = self._ctx.buffer(reserve=2 * self._used[name])
        grown.write(b"".join(self._parts[name]))
        self.version += 1

    @property
    def vertices(self) -> Any:
        return self._buffers["vertices"]

    @property
    def indices(self) -> Any:
        return self._buffers["indices"]
