"""All that the embedded server imports and compiles before it opens a renderer; for the fork server of tests alone.

And no server of tests draws other weathers beside what it serves: none lasts until they are all drawn, so that each one
would begin anew, in the time that the other core has left. `test_render_warm_up` starts servers that do.
"""

from contextlib import nullcontext

from embedded_carla import warm_up
from embedded_carla.render import warm_up as shaders

warm_up._compile_kernels()
shaders.rest_beside = nullcontext  # type: ignore[assignment]
