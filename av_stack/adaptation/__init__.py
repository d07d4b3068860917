"""Adapts the detector to the pictures of a CARLA server (`av-stack adapt`).

`plan` divides the server's towns into towns to learn from and a town to measure on, `collect` takes the pictures,
`learn` fine-tunes the detector, `score` measures it before and after, and `adapt` runs all steps.
"""
