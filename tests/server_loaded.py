"""All that the embedded server imports and compiles before it opens a renderer; for the fork server of tests alone."""

from embedded_carla import warm_up

warm_up._compile_kernels()
