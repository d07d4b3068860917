"""Agents that know the simulator's truth: CARLA's TrafficManager, and CARLA's own agents."""
