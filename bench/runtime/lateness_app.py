"""The app whose lateness is measured: jobs that only record when they were called.

`tickwise serve bench.runtime.lateness_app:app` serves it. Environment variables (see `size`) give the number of
jobs, the interval of their schedules, and the file to which the app writes the instants when it stops.
"""

import os
from pathlib import Path

from tickwise.app import AsyncTickwise
from tickwise.app.hooks import Hooks
from tickwise.clock import microseconds

from .size import INTERVAL, JOB_COUNT, OUTPUT_FILE

_call_times: list[int] = []


def _write_call_times() -> None:
    Path(os.environ[OUTPUT_FILE]).write_text("\n".join(map(str, _call_times)), "utf-8")


async def _record_call() -> None:
    _call_times.append(microseconds())


app = AsyncTickwise(hooks=Hooks(on_stop=_write_call_times))
for _number in range(int(os.environ.get(JOB_COUNT, "0"))):
    app.job({"every": f"{os.environ[INTERVAL]}s"}, name=f"job-{_number}", catchup="skip")(_record_call)
