"""Health of the cameras: faulty and torn pictures, and how the drive must react."""
