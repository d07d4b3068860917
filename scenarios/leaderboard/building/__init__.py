"""The steps from a Leaderboard route to a scenario: its way through the waypoints, its triggers, its scripts as one."""
