"""`av-stack eval perception`: what perception says beside the truth.

`perception.py` runs it, `visits.py` says what is looked at, and a file a part (lanes, lights, ranging, ...) scores it;
each part gives `Figure`s (`table.py`), which `table.py` and `charts.py` show.
"""
