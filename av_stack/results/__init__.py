"""The result of a drive: its figures, its log, and the words for what limited it."""
