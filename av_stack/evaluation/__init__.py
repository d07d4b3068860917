"""Evaluation of perception against the simulator's truth (`av-stack eval perception`).

`perception.py` runs it and `eval_visits.py` collects the frames. One file for each part (lanes, lights, ranging, ...)
scores them and yields `Figure`s (`table.py`), which `table.py` and `charts.py` show.
"""
