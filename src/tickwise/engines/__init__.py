"""For programs that engines start: the other side of a hand-over.

`tickwise.engines.remote.execute_attempt` executes an attempt in this process; `tickwise exec` is the same as a
command; `celery.install` is the same as a task of a Celery app. These open no store: the work speaks to the API.

`celery.Scheduler` is a scheduler for `celery beat`, and a node of the fleet.
"""
