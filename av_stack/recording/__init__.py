"""The files of a run: recording (MCAP), video and result."""
