"""The renderer: colour, depth in metres and label pictures of the world from one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import moderngl
import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.actors import ActorSet, ActorSets
from embedded_carla.render.atmosphere import Atmosphere, atmosphere, seen_as
from embedded_carla.render.context import RenderError, create_context, flush_of, make_current, release
from embedded_carla.render.frame import FAR_M, FRAME_BYTES, MAX_BEAMS, Camera, pack
from embedded_carla.render.look import Look
from embedded_carla.render.passes.debug_shapes import debug_rows
from embedded_carla.render.passes.finish import Finisher
from embedded_carla.render.passes.ground import Ground
from embedded_carla.render.passes.mirror import FROM_PUDDLES, Mirror
from embedded_carla.render.passes.normals import NormalPrograms, NormalsTarget, read_normals
from embedded_carla.render.passes.shadow import ShadowMap, Shadows
from embedded_carla.render.passes.solids import Solids
from embedded_carla.render.passes.sprites import sprites
from embedded_carla.render.picture import NIGHT_FROM, Picture, Shot, features, has_sun, read_picture
from embedded_carla.render.placements import StaticInstances
from embedded_carla.render.programs import (
    FACES_UNIT,
    FRAME_BINDING,
    HOLLOWS_UNIT,
    LOOK_BINDING,
    SURFACE_UNIT,
    Outputs,
    Programs,
)
from embedded_carla.render.shapes.actors import make_shape
from embedded_carla.render.shapes.geometry import Shape
from embedded_carla.render.shapes.pool import SCENERY, Key, ShapePool
from embedded_carla.render.shapes.prototypes import shape_of
from embedded_carla.render.stages import Stages
from embedded_carla.render.street_lamps import StreetLamps
from embedded_carla.render.targets import Target, Targets
from embedded_carla.render.textures import SurfaceTextures
from embedded_carla.scene import ActorView, CameraView, DebugShape, Scenery, SceneState
from embedded_carla.types import SemanticTag, SignalColour, WeatherParameters

NO_LAMPS = (np.zeros((0, 4)), (np.zeros((0, 4)), np.zeros((0, 4))))
DEFAULT_LOOK = Look()
IN_FLIGHT = 6  # pictures drawn before the first one is read back


class Renderer:
    """Draws one map's scenery and its actors in one look.

    Raises RenderError where OpenGL is missing. Use from one thread only.
    """

    def __init__(self, scenery: Scenery, look: Look = DEFAULT_LOOK) -> None:
        self._ctx: Any = create_context()
        self._look = look
        self._flush = flush_of(self._ctx)
        self._programs = Programs(self._ctx, looks=not look.is_default)
        self.stages = Stages(self._ctx)
        self._targets = Targets(self._ctx)
        self._normal_programs = NormalPrograms(self._ctx)
        self._normals = NormalsTarget(self._ctx)
        self._frame = self._ctx.buffer(reserve=FRAME_BYTES, dynamic=True)
        self._look_block = self._ctx.buffer(look.block().tobytes())
        self._look_block.bind_to_uniform_block(LOOK_BINDING)
        self._meshes = scenery.meshes
        self._hidden_meshes: NDArray[np.bool_] = np.zeros(len(scenery.meshes), dtype=np.bool_)
        self._ground = Ground(self._ctx, scenery.meshes, look.surfaces)
        pool = ShapePool(self._ctx, self._shape)
        self._still = StaticInstances(self._ctx, pool, scenery.placements, look.surfaces)
        self._moving = ActorSets(pool)
        self._solids = Solids(self._ctx, pool)
        self._shadow = ShadowMap(self._ctx)
        self._mirror = Mirror(self._ctx)
        self._finisher = Finisher(self._ctx, look.camera)
        self._textures = SurfaceTextures(self._ctx, look.surfaces)
        self._cover_arrays: dict[int, Any] = {}
        self._lamps = StreetLamps(scenery.lamps)
        self._height_below = scenery.ground.below
        roads = [m.vertices[:, 2].min() for m in scenery.meshes if m.tag == SemanticTag.ROADS and len(m.vertices)]
        self._base_m = float(min(roads, default=0.0))
        self._debug: Sequence[DebugShape] = ()
        self._closed = False

    @property
    def gl_renderer(self) -> str:
        """Name of the GL implementation, for example "llvmpipe (LLVM 15.0.6, 256 bits)"."""
        return str(self._ctx.info["GL_RENDERER"])

    def triangles(self) -> dict[str, int]:
        """Triangles in the last picture: of "standing" objects (picture, mirror, shadows together) and of "ground"."""
        return {"standing": self._solids.triangles(), "ground": self._ground.triangles()}

    def show(self, state: SceneState) -> None:
        """Apply clients' changes from the next picture on: hidden placements and meshes, lamp states."""
        make_current(self._ctx)
        self._still.hide(state.hidden_placements)
        self._lamps.show(state)
        self._shadow.forget()
        if np.array_equal(state.hidden_meshes, self._hidden_meshes):
            return
        self._hidden_meshes = state.hidden_meshes
        self._ground.release()
        kept = [mesh for mesh, gone in zip(self._meshes, state.hidden_meshes.tolist(), strict=True) if not gone]
        self._ground = Ground(self._ctx, kept, self._look.surfaces)

    def show_debug(self, shapes: Sequence[DebugShape]) -> None:
        """Draw these shapes into the colour output, and no other output, of the following pictures."""
        self._debug = shapes

    def render(
        self,
        camera: CameraView,
        actors: Sequence[ActorView],
        lights: Mapping[str, SignalColour],
        weather: WeatherParameters,
        time_s: float,
        *,
        rgb: bool,
        depth: bool,
        labels: bool,
    ) -> Picture:
        """Render one picture with the requested outputs; `lights` are the signal heads' colours (dark when absent)."""
        return next(self.render_all([Shot(camera, actors, rgb, depth, labels)], lights, weather, time_s))

    def render_all(
        self,
        shots: Iterable[Shot],
        lights: Mapping[str, SignalColour],
        weather: WeatherParameters,
        time_s: float,
    ) -> Iterator[Picture]:
        """Render the pictures of one moment, in the order of `shots`; each is the same as if rendered alone.

        Several pictures are drawn before one is read back, so that the GPU never waits for the next.
        """
        left = iter(shots)
        while some := list(islice(left, IN_FLIGHT)):
            make_current(self._ctx)
            drawn = [self._shoot(turn, shot, lights, weather, time_s) for turn, shot in enumerate(some)]
            with self.stages.of("wait"):
                pass
            with self.stages.of("read"):
                pictures = [read_picture(target) for target in drawn]
            yield from pictures

    def _shoot(
        self, turn: int, shot: Shot, lights: Mapping[str, SignalColour], weather: WeatherParameters, time_s: float
    ) -> Target:
        """Draw one picture; `turn` numbers the pictures that are drawn but not read back yet."""
        outputs, camera = Outputs(shot.rgb, shot.depth, shot.labels), shot.camera
        if not (shot.rgb or shot.depth or shot.labels):
            raise RenderError("a picture needs at least one of rgb, depth, labels")
        stage = self.stages.of
        with stage("prepare"):
            if self._programs.is_over_full:
                self._forget_programs()
            view = Camera.of(camera, shot.far_m)
            air = seen_as(atmosphere(weather, shot.gain, shot.adapts), self._look.light)
            scene = self._moving.of(shot.actors)
            self._still.light(lights)
            self._solids.begin()
            self._ctx.enable(moderngl.DEPTH_TEST)
            self._ctx.depth_func = "<="
        with stage("shadow"):
            shadows = self._draw_shadow(view, air, scene, time_s) if shot.rgb and has_sun(air) else None
            if shadows is None:
                self._write_frame(view, air, scene, time_s, None)
            self._flush()
        with stage("mirror"):
            mirrors = shot.rgb and self._draw_mirror(view, air, scene, time_s, shadows)
        with stage("scene"):
            target = self._targets.get(camera.width_px, camera.height_px, outputs, turn)
            self._draw(target, view, scene, air, mirrors)
            self._flush()
        with stage("finish"):
            if shot.rgb:
                over: NDArray[Any] = sprites(view, air, scene, self._lamps.burning, time_s)
                over = np.concatenate([over, debug_rows(view, self._debug)]) if self._debug else over
                self._finisher.draw(self._programs, self._textures, target, view, air, over)
                self._flush()
        return target

    def normals(
        self, camera: CameraView, actors: Sequence[ActorView], weather: WeatherParameters, time_s: float,
        *, far_m: float = FAR_M,
    ) -> NDArray[np.uint8]:  # fmt: skip
        """(H, W, 4) BGRA: x, y, z of the world-frame surface normal in R, G, B, -1 to 1 as 0 to 255; 128 for sky."""
        make_current(self._ctx)
        view, scene = Camera.of(camera, far_m), self._moving.of(actors)
        self._solids.begin()
        self._write_frame(view, atmosphere(weather), scene, time_s, None)
        frame = self._normals.begin(camera.width_px, camera.height_px)
        self._ctx.enable(moderngl.DEPTH_TEST)
        self._ctx.depth_func = "<="
        self._draw_solids(self._normal_programs, view, scene, ())
        return read_normals(frame)

    def _forget_programs(self) -> None:
        """Release all programs and everything that refers to them, because the driver may reuse their numbers."""
        self._programs.release()
        for holder in (self._solids, self._ground, self._finisher):
            holder.forget_programs()
        for array in self._cover_arrays.values():
            array.release()
        self._cover_arrays.clear()

    def _draw_shadow(self, view: Camera, air: Atmosphere, scene: ActorSet, time_s: float) -> Shadows:
        """Draw the missing parts of the shadow maps; on return the frame block is that of this picture."""
        shadows, missing = self._shadow.place(air.sun_direction, view)
        for slot, square in missing:
            eye, still = np.array(square.centre), replace(air, sway_m=0.0)
            self._write_block(pack(replace(view, eye=eye), still, 0.0, self._base_m, None, *NO_LAMPS))
            self._shadow.draw_still(self._programs, slot, square, self._solids, self._still.rows)
        self._write_frame(view, air, scene, time_s, shadows)
        self._shadow.draw_moving(self._programs, shadows.fine, view, self._solids, scene.rows)
        return shadows

    def _write_block(self, block: NDArray[np.float32]) -> None:
        self._frame.write(block)
        self._frame.bind_to_uniform_block(FRAME_BINDING)

    def _draw_mirror(
        self, view: Camera, air: Atmosphere, scene: ActorSet, time_s: float, shadows: Shadows | None
    ) -> bool:
        """Draw the puddles' mirror picture; False when there are no puddles or there is no ground below the camera."""
        if air.puddles < FROM_PUDDLES:
            return False
        floor_m = float(self._height_below(view.eye[None]).z[0])
        if np.isnan(floor_m):
            return False
        self._write_frame(view, air, scene, time_s, shadows, floor_m)
        self._shadow.bind()
        self._still.faces.texture.use(FACES_UNIT)
        self._mirror.draw(self._programs, view, self._solids, self._still.rows, scene.rows, features(air))
        self._write_frame(view, air, scene, time_s, shadows)
        return True

    def _write_frame(
        self, view: Camera, air: Atmosphere, scene: ActorSet, time_s: float, shadows: Shadows | None,
        mirror_m: float | None = None,
    ) -> None:  # fmt: skip
        night = air.night > NIGHT_FROM
        lamps = self._lamps.near(view, air.night) if night else NO_LAMPS[0]
        beams = scene.beams(view, MAX_BEAMS) if night else NO_LAMPS[1]
        shadow = (shadows.fine, shadows.wide, float(shadows.slot)) if shadows is not None else None
        self._write_block(pack(view, air, time_s, self._base_m, shadow, lamps, beams, mirror_m))

    def _draw(self, target: Target, view: Camera, scene: ActorSet, air: Atmosphere, mirrors: bool) -> None:
        defines = target.outputs.defines()
        if target.outputs.rgb:
            defines += features(air) + (("MIRROR",) if mirrors else ())
        target.all.use()
        target.all.clear(depth=1.0)
        self._shadow.bind()
        self._textures.use("ASPHALT", HOLLOWS_UNIT)
        self._still.faces.texture.use(FACES_UNIT)
        self._draw_solids(self._programs, view, scene, defines)
        self._textures.use("CLOUD", SURFACE_UNIT)
        self._cover("sky", defines)

    def _draw_solids(self, programs: Programs, view: Camera, scene: ActorSet, defines: tuple[str, ...]) -> None:
        """Draw everything but the sky, with `programs`."""
        self._ctx.enable(moderngl.CULL_FACE)
        self._ctx.front_face = "ccw"
        still = self._still
        horizon = still.occluders.horizon(view, still.rows.candidates.shown)
        self._solids.draw(self._solids.seen(view, still.rows, scene.rows, horizon), programs, defines)
        self._ctx.disable(moderngl.CULL_FACE)
        self._ground.draw(programs, self._textures, view, defines, horizon)

    def _cover(self, fragment: str, defines: tuple[str, ...]) -> None:
        """Run a fragment shader over the whole picture at the far plane."""
        program = self._programs.get("sky", fragment, tuple(d for d in defines if d != "SUN"))
        array = self._cover_arrays.get(program.glo)
        if array is None:
            array = self._cover_arrays[program.glo] = self._ctx.vertex_array(program, [])
        array.render(vertices=3)

    def _shape(self, key: Key) -> Shape:
        """The unit shape of `key`, a prototype of scenery or an actor's shape."""
        return shape_of(key[1], key[2], self._look) if key[0] == SCENERY else make_shape(key)

    def close(self) -> None:
        """Release the context and all its objects; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        make_current(self._ctx)
        release(self._ctx)
