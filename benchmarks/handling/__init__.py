"""CARLA's handling beside the published models of a CARLA car: test drives on a plane, figures and curves."""
