"""What the agent for CARLA Leaderboard's evaluator is made of; `av_stack.leaderboard_agent` is the agent itself."""
