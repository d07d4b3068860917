"""Viewers, which show a running drive or a recording to people: a local web page, and Rerun."""
