"""A job that Celery's workers execute: a task of the project, called with the params of the run."""

from tickwise import Tickwise

app = Tickwise()


@app.job(engine={"name": "celery", "task": "project.double"})
def double(number: int) -> int:
    """Only its name and its params count: the task of the Celery app is what is called."""
    raise NotImplementedError(number)
