"""Checks a detection before it starts a track: can a road user of this kind be where the box is?

`standing.py` compares the size of a box with its place on the road, `surface.py` its pixels with those around it, and
`check.py` combines both with the detector's score.
"""
