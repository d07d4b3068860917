"""Plays recordings of other programs: videos, folders of pictures, ROS 2 and others; start with `session.py`."""
