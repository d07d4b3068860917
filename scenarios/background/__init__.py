"""Traffic that is always around the ego, as the Leaderboard's background activity."""
