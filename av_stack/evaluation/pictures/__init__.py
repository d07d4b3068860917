"""Evaluates detectors on a user's own labelled pictures (`av-stack eval pictures`).

`label_files` reads the labels, `class_map` translates their class names, `scores` measures, `sheet` draws the worst
pictures, and `evaluate` runs these steps and writes the report.
"""
