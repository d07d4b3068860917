"""Plays what other programs recorded: videos, folders of pictures and ROS 2 recordings; start with `session.py`."""
