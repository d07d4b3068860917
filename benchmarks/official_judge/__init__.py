"""Judges the same routes, driven by the same agent on the same server, by CARLA Leaderboard's evaluator and by ours."""
