"""What a run leaves behind: a recording (MCAP), a video and a table of results."""
