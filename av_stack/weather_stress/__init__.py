"""Weather stress: one drive in many weathers, and the weather at which the drive and each module first fail."""
