"""Adapts the detector to the pictures of a CARLA server (`av-stack adapt`).

`plan` divides the server's towns, `collect` takes the pictures, `learn` fine-tunes, `score` measures before and after,
and `adapt` runs it all.
"""
