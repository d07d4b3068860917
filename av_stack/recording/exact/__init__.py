"""What a replay needs of a drive, exactly: every measurement, result and picture, bit by bit."""
