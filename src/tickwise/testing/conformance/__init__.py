"""The suite that every store passes, ours and yours. It needs pytest, and no plugin.

    from tickwise.testing.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        async def open(self, clock):            # an empty store, whose time is clock() in microseconds
            return await MyStore.connect(..., clock=clock)

        async def close(self, store):           # if there is more to do than store.close()
            ...

Each story opens a store of its own, on a clock that stands still until the story moves it. Its docstring states
the rule that it holds a store to. `snapshot` shows a whole store as values that can be compared.
"""

import pytest

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{part}"
        for part in (
            "definitions sources tick overlap_and_lanes pause enqueue lease limits finish expiry retention "
            "insights slots shadow run_search changes access bad_input logs waits deadlines start_budget "
            "event_sources world"
        ).split()
    )
)

from .snapshot import Snapshot, snapshot  # noqa: E402  (after the line above, so that failed asserts show values)
from .suite import StoreConformance  # noqa: E402

__all__ = ["Snapshot", "StoreConformance", "snapshot"]
