"""An app on a moved clock: `tickwise serve tests.e2e.clocked:app FOLDER`; the time stands in a file."""

import os

from tickwise import AsyncTickwise

from ..stores.races.clock import SharedClock
from .place import CLOCK

app = AsyncTickwise(clock=SharedClock(os.environ[CLOCK]))
