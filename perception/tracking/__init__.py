"""Tracking of road users over time: association, motion model, and corrections by the map's lanes and by true sizes."""
