"""Warns of deadlines that will probably be missed, where their `warn` asks for it (S65)."""

from ..runtime.notifications.notice import about_forecast
from ..runtime.notifications.notifier import Notifier
from ..stores.contract import Store
from .deadline_forecasts import DeadlineForecasts

_POLL = 20.0  # seconds; the forecasts are made less often


class DeadlineWarnings:
    """Hands warnings to the notifier of a node, which sends each once, whichever node finds it first."""

    def __init__(self, store: Store, notifier: Notifier) -> None:
        self._store = store
        self._notifier = notifier
        self._forecasts = DeadlineForecasts(store, lambda one: one.asks_for_warnings)

    async def turn(self) -> float:
        now = await self._store.now()
        for forecast in await self._forecasts.current():
            if forecast.is_warning:
                await self._notifier.add(about_forecast(forecast, now))
        return _POLL
