"""The app whose lateness is measured: jobs that do nothing but note when they were called.

`tickwise serve tickwise.bench.runtime.punctual:app`; variables (see `load`) say how many jobs there are, when they
are due, and into which file the instants go when it ends.
"""

import os
from pathlib import Path

from ...app import AsyncTickwise
from ...app.hooks import Hooks
from ...clock import microseconds
from .load import COUNT, EVERY, NOTES

_called: list[int] = []


def _write() -> None:
    Path(os.environ[NOTES]).write_text("\n".join(map(str, _called)), "utf-8")


async def _note() -> None:
    _called.append(microseconds())


app = AsyncTickwise(hooks=Hooks(on_stop=_write))
for _number in range(int(os.environ.get(COUNT, "0"))):
    app.job({"every": f"{os.environ[EVERY]}s"}, name=f"punctual-{_number}", catchup="skip")(_note)
