"""`DjangoTickwise`: the scheduler of a Django project."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings as django_settings
from django.db import close_old_connections, reset_queries

from ..app import AsyncTickwise, Tickwise
from ..app.enqueue import enqueued
from ..app.loop_thread import run_synchronously
from ..app.stores import StoreOfLoop
from ..app.values import RunInfo
from ..config import ProjectSettings, use_project
from ..runtime.context import Run
from ..stores.contract import Store
from ..stores.memory.store import MemoryStore
from ..stores.records import Enqueue, Enqueued
from .database import connection_in_transaction, database_url

_SETTING, _DATABASE = "TICKWISE", "database"


def project_settings() -> Mapping[str, Any]:
    """The settings of Tickwise; the store is the project's database unless one is named."""
    given = dict(getattr(django_settings, _SETTING, {}))
    alias = given.pop(_DATABASE, "default")
    return given if "store" in given else {"store": database_url(alias), **given}


PROJECT = ProjectSettings(f"settings.{_SETTING}", project_settings)


class _ProjectScheduler(AsyncTickwise):
    """Reads its settings again until the store is open: tests put another database in place of the first."""

    async def opened(self) -> StoreOfLoop:
        self.read_settings()
        return await super().opened()

    def read_settings(self) -> None:
        if not self._stores.is_open:
            self.configure()


class DjangoTickwise(Tickwise):
    """A scheduler whose `enqueue` is part of the transaction that is open, if its store is that database."""

    def __init__(self) -> None:
        use_project(PROJECT)
        self._scheduler = _ProjectScheduler(name="django")
        super().__init__(awaited=self._scheduler)
        self.middleware(_care_for_connections)

    @property
    def store_url(self) -> str:
        """Where the store is, or will be when it is opened."""
        self._scheduler.read_settings()
        return self.settings.store

    def enqueue(
        self, job: Any, params: Mapping[str, Any] | None = None, *, connection: Any = None, **options: Any
    ) -> Any:
        """Queue a run. Inside `transaction.atomic()` it exists if and only if that commits."""
        own = None if connection is not None else self._own_connection()
        if own is None:
            return super().enqueue(job, params, connection=connection, **options)
        store, request = self._loop_thread.call(self.awaited.prepared(job, params, **options))
        if isinstance(store, MemoryStore):  # of a test
            return super().enqueue(job, params, **options)
        (made,) = run_synchronously(store.enqueue([request], own))
        return self._loop_thread.call(_run_of(store, request, made))

    def _own_connection(self) -> Any:
        alias = getattr(django_settings, _SETTING, {}).get(_DATABASE, "default")
        own = connection_in_transaction(alias)
        return own if own is not None and self.store_url == database_url(alias) else None


async def _run_of(store: Store, request: Enqueue, made: Enqueued) -> RunInfo:
    """The run; one whose key was taken in this transaction cannot be read yet, and is as new."""
    is_stored = not made.new and await store.insights.run(made.id) is not None
    return await enqueued(store, request, made if is_stored else made._replace(new=True))


def _care_for_connections(_run: Run) -> Iterator[None]:
    """What Django does around a request: connections that are broken or too old are closed."""
    reset_queries()
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()
