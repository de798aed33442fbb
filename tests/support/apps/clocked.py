"""An app on a moved clock: `tickwise serve tests.support.apps.clocked:app FOLDER`; the time stands in a file."""

import os

from tickwise import AsyncTickwise

from ..deployment import CLOCK
from ..races.file_clock import SharedClock

app = AsyncTickwise(clock=SharedClock(os.environ[CLOCK]))
