"""Finds places for the scenario types on any map: `find.find_places` gives routes with one scenario each, or a reason.

`table.NEEDS` says what each type needs of the road.
"""
