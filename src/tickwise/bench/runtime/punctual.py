"""The app whose lateness is measured: jobs that do nothing but note when they were called.

`tickwise serve tickwise.bench.runtime.punctual:app`; the variables below say how many jobs there are, and into
which file the instants go when it ends.
"""

import os
from pathlib import Path

from ...app import AsyncTickwise
from ...app.hooks import Hooks
from ...clock import microseconds

COUNT, NOTES = "TICKWISE_BENCH_COUNT", "TICKWISE_BENCH_NOTES"
EVERY = 4  # seconds, and all of them on the same
_called: list[int] = []


def _write() -> None:
    Path(os.environ[NOTES]).write_text("\n".join(map(str, _called)), "utf-8")


async def _note() -> None:
    _called.append(microseconds())


app = AsyncTickwise(hooks=Hooks(on_stop=_write))
for _number in range(int(os.environ.get(COUNT, "0"))):
    app.job({"every": f"{EVERY}s"}, name=f"punctual-{_number}", catchup="skip")(_note)
