"""Perception stages that the pipeline runs over all cameras of a rig: health, detection, road users, traffic lights.

For diagnosis, an oracle can take the place of the cameras as the source of road users or of traffic lights.
"""
