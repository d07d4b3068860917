"""Finds lanes by place: the nearest ones to points, and the lane that a road user follows."""
