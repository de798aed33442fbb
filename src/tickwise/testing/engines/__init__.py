"""The suite that every engine passes, ours and yours. It needs pytest, and no plugin.

    from tickwise.testing.engines import EngineConformance

    class TestMyEngine(EngineConformance):
        engine = MyEngine
        settings = {"address": "http://127.0.0.1:8265"}

        async def cut(self):                    # from now on the engine does not answer; its work goes on
            ...

        async def mend(self):                   # it answers again
            ...

Each story orders work under references of its own. The work is real: it asks a gate on this machine
(`Gate`), which counts how often it begins. `FakeEngine` is an engine in memory that breaks on demand.
"""

import pytest

pytest.register_assert_rewrite(
    *(f"{__name__}.{part}" for part in "submit look control outage bad_input world".split())
)

from .fake import FakeCluster, FakeEngine, Faults, ForgetfulFakeEngine  # noqa: E402  (after the line above)
from .gate import Gate  # noqa: E402
from .suite import EngineConformance  # noqa: E402
from .workplace import Work, Workplace  # noqa: E402
from .world import until  # noqa: E402

__all__ = [
    "EngineConformance",
    "FakeCluster",
    "FakeEngine",
    "Faults",
    "ForgetfulFakeEngine",
    "Gate",
    "Work",
    "Workplace",
    "until",
]
