"""Driving dynamics of the server's vehicles: test drives on a plane, figures and curves."""
