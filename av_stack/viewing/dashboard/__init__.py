"""The dashboard: a local web page that shows a running drive, and can stop it."""
