"""`tickwise exec`: what an engine starts to execute one attempt."""

import os
import sys

from ...engines.attempt_client import TICKET
from ...engines.remote import execute_attempt


def execute() -> None:
    """Execute one attempt that was handed over to an engine; the engine starts this, not a person.

    It asks the API whether to begin and what to do. Exit code 0: it is done, or there was nothing to do.
    """
    environment = dict(os.environ)
    os.environ.pop(TICKET, None)  # functions and programs of the job have no use for it
    sys.path.insert(0, "")
    execute_attempt(environment, own_process=True)
