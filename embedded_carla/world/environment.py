"""Environment objects and map layers: the map's own objects as clients know them, and which are shown now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from embedded_carla.raytracing.solids import local_box, solids_of
from embedded_carla.scene import Boxes, Mesh, Placement, Scenery
from embedded_carla.types import BoundingBox, SemanticTag, Transform

ANY_LABEL = 255  # in a client's request: objects of every label
_SAME_PLACE_M = 0.6  # a collider this close to a placement belongs to it


class MapLayer(IntFlag):
    """CARLA's map layers."""

    NONE = 0
    BUILDINGS = 1
    DECALS = 2
    FOLIAGE = 4
    GROUND = 8
    PARKED_VEHICLES = 16
    PARTICLES = 32
    PROPS = 64
    STREET_LIGHTS = 128
    WALLS = 256
    ALL = 0xFFFF


_LAYER_OF_TAG = {
    SemanticTag.BUILDINGS: MapLayer.BUILDINGS,
    SemanticTag.VEGETATION: MapLayer.FOLIAGE,
    SemanticTag.TERRAIN: MapLayer.GROUND,
    SemanticTag.GROUND: MapLayer.GROUND,
    SemanticTag.WALLS: MapLayer.WALLS,
    SemanticTag.FENCES: MapLayer.WALLS,
    SemanticTag.STATIC: MapLayer.PROPS,
    SemanticTag.DYNAMIC: MapLayer.PROPS,
    SemanticTag.OTHER: MapLayer.PROPS,
    SemanticTag.CAR: MapLayer.PARKED_VEHICLES,
    SemanticTag.TRUCK: MapLayer.PARKED_VEHICLES,
    SemanticTag.BUS: MapLayer.PARKED_VEHICLES,
    SemanticTag.MOTORCYCLE: MapLayer.PARKED_VEHICLES,
    SemanticTag.BICYCLE: MapLayer.PARKED_VEHICLES,
}
"""Map layer of each tag.

Roads, pavements, paint, traffic lights, signs and guard rails are in no layer: they are always shown.
"""


@dataclass(frozen=True, slots=True)
class EnvironmentObject:
    """An object of the map: a placement or a ground mesh. `box` is in the world frame: centre, half size, rotation."""

    object_id: int
    name: str
    tag: SemanticTag
    pose: Transform
    box: BoundingBox
    layer: MapLayer
    placement: int = -1
    mesh: int = -1
    colliders: tuple[int, ...] = ()


class Environment:
    """The environment objects of one episode; all are shown at first."""

    def __init__(self, scenery: Scenery) -> None:
        self._scenery = scenery
        self._made: tuple[EnvironmentObject, ...] | None = None
        self._disabled: set[int] = set()
        self._layers = MapLayer.ALL
        self._hidden: set[int] = set()  # disabled, or in a layer that is not loaded
        self.version = 0
        """Increases whenever an object appears or disappears."""

    @property
    def objects(self) -> tuple[EnvironmentObject, ...]:
        """All objects, shown or not; their ids stay the same for a map."""
        if self._made is None:
            self._made = tuple(_objects(self._scenery))
        return self._made

    def present(self, label: int = ANY_LABEL) -> list[EnvironmentObject]:
        """Objects with this label in loaded layers; a disabled object is invisible but still listed, as in CARLA."""
        wanted = self.objects if label == ANY_LABEL else [o for o in self.objects if o.tag == label]
        return [o for o in wanted if self._is_loaded(o)]

    def enable(self, ids: Iterable[int], enabled: bool) -> None:
        """Show or hide objects; ids that do not exist are ignored, as in CARLA."""
        if enabled:
            self._disabled.difference_update(ids)
        else:
            self._disabled.update({o.object_id for o in self.objects}.intersection(ids))
        self._update()

    def load_layers(self, layers: int) -> None:
        self._set_layers(self._layers | MapLayer(layers & MapLayer.ALL))

    def unload_layers(self, layers: int) -> None:
        self._set_layers(MapLayer(self._layers & ~layers & MapLayer.ALL))

    def _set_layers(self, layers: MapLayer) -> None:
        if layers != self._layers:
            self._layers = layers
            self._update()

    def _is_loaded(self, thing: EnvironmentObject) -> bool:
        return not thing.layer or bool(thing.layer & self._layers)

    def _update(self) -> None:
        hidden = {o.object_id for o in self.objects if o.object_id in self._disabled or not self._is_loaded(o)}
        if hidden != self._hidden:
            self._hidden = hidden
            self.version += 1

    # ------------------------------------------------------------ hidden objects

    @property
    def has_hidden(self) -> bool:
        return bool(self._hidden)

    def hidden_placements(self) -> NDArray[np.bool_]:
        """Mask of hidden placements (P,), by index into `Scenery.placements`."""
        return self._mask(len(self._scenery.placements), (o.placement for o in self._gone()))

    def hidden_meshes(self) -> NDArray[np.bool_]:
        """Mask of hidden meshes (M,), by index into `Scenery.meshes`."""
        return self._mask(len(self._scenery.meshes), (o.mesh for o in self._gone()))

    def colliders(self) -> Boxes:
        """The solid boxes of the objects that are shown now."""
        boxes = self._scenery.colliders
        if not self._hidden:
            return boxes
        kept = ~self._mask(len(boxes.tag), (i for o in self._gone() for i in o.colliders))
        return replace(
            boxes, centre=boxes.centre[kept], half=boxes.half[kept], yaw_rad=boxes.yaw_rad[kept], tag=boxes.tag[kept]
        )

    def _gone(self) -> list[EnvironmentObject]:
        return [o for o in self.objects if o.object_id in self._hidden] if self._hidden else []

    @staticmethod
    def _mask(count: int, indices: Iterable[int]) -> NDArray[np.bool_]:
        mask = np.zeros(count, dtype=np.bool_)
        mask[[i for i in indices if i >= 0]] = True
        return mask


def _objects(scenery: Scenery) -> Iterable[EnvironmentObject]:
    colliders = _colliders_of(scenery.placements, scenery.colliders)
    counts: dict[str, int] = {}
    number = 0
    for index, placement in enumerate(scenery.placements):
        number += 1
        name = _numbered(placement.prototype, counts)
        yield _placed(number, name, placement, index, colliders[index])
    for index, mesh in enumerate(scenery.meshes):
        number += 1
        if len(mesh.vertices):
            yield _meshed(number, _numbered(mesh.tag.name.lower(), counts), mesh, index)


def _numbered(kind: str, counts: dict[str, int]) -> str:
    counts[kind] = counts.get(kind, 0) + 1
    return f"{''.join(part.title() for part in kind.split('_'))}_{counts[kind]}"


def _placed(number: int, name: str, placement: Placement, index: int, colliders: tuple[int, ...]) -> EnvironmentObject:
    pose = placement.transform
    centre, half = local_box(placement, solids_of(placement))
    x, y, z = (pose.matrix() @ [*centre, 1.0])[:3].tolist()
    extent = half.tolist()
    box = BoundingBox((x, y, z), (extent[0], extent[1], extent[2]), (pose.pitch_deg, pose.yaw_deg, pose.roll_deg))
    layer = _LAYER_OF_TAG.get(placement.tag, MapLayer.NONE)
    if placement.prototype == "street_lamp":
        layer = MapLayer.STREET_LIGHTS
    return EnvironmentObject(number, name, placement.tag, pose, box, layer, placement=index, colliders=colliders)


def _meshed(number: int, name: str, mesh: Mesh, index: int) -> EnvironmentObject:
    low, high = mesh.vertices.min(axis=0).astype(np.float64), mesh.vertices.max(axis=0).astype(np.float64)
    x, y, z = ((low + high) / 2.0).tolist()
    half_x, half_y, half_z = ((high - low) / 2.0).tolist()
    layer = _LAYER_OF_TAG.get(mesh.tag, MapLayer.NONE)
    box = BoundingBox((x, y, z), (half_x, half_y, half_z))
    return EnvironmentObject(number, name, mesh.tag, Transform(x, y, z), box, layer, mesh=index)


def _colliders_of(placements: Sequence[Placement], boxes: Boxes) -> list[tuple[int, ...]]:
    """Indices of each placement's solid boxes: those with its tag at its position."""
    found: list[list[int]] = [[] for _ in placements]
    spots: dict[tuple[int, int, int], list[int]] = {}
    for i, placement in enumerate(placements):
        spots.setdefault(_cell(placement.transform.x, placement.transform.y, placement.tag), []).append(i)
    for k, (x, y, _) in enumerate(boxes.centre.tolist()):
        tag = int(boxes.tag[k])
        near = [i for dx in (-1, 0, 1) for dy in (-1, 0, 1) for i in spots.get(_cell(x + dx, y + dy, tag), ())]
        distance = [np.hypot(placements[i].transform.x - x, placements[i].transform.y - y) for i in near]
        if near and min(distance) < _SAME_PLACE_M:
            found[near[int(np.argmin(distance))]].append(k)
    return [tuple(indices) for indices in found]


def _cell(x: float, y: float, tag: int) -> tuple[int, int, int]:
    return (int(np.floor(x)), int(np.floor(y)), int(tag))
