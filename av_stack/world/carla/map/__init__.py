"""Converts a `carla.Map` into a `LaneGraph`."""

from av_stack.world.carla.map.graph import lane_graph, lane_graph_of_text, read_lane_graph

__all__ = ["lane_graph", "lane_graph_of_text", "read_lane_graph"]
