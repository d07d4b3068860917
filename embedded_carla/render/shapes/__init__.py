"""Shapes: the triangle meshes of everything that is drawn as an instance."""
