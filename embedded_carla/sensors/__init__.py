"""What sensors measure, as the bodies of their messages."""
