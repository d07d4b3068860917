"""What the radars add to the camera: how early a road user is tracked, false tracks, and cost."""
