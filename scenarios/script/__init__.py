"""What happens in a scenario besides the ego's drive: its actors and events, and the engine that plays them."""
