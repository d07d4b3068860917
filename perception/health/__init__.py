"""Health of the cameras and radars: their faults, and how the drive must react."""
