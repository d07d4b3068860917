"""Explains the infractions of a recorded drive: which module's output decides whether one happens.

Start with `study.py`; `verdict.py` holds the rules.
"""
