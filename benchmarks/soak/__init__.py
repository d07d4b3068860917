"""Long runs against a real server process through the real wheel; each can be stopped and goes on where it was."""
