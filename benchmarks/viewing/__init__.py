"""What watching a drive costs its loop."""
