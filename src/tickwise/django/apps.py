"""The Django app: it finds the jobs of installed apps, and makes the tables when the project migrates."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.signals import request_started
from django.db import connections
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules

from ..core.errors import TickwiseError
from ..log import get_logger
from . import tw
from .database import database_url

_log = get_logger()


class TickwiseConfig(AppConfig):
    name = "tickwise.django"
    label = "tickwise"
    verbose_name = "Tickwise"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        autodiscover_modules("jobs")
        if any(backend.get("BACKEND", "").startswith(self.name) for backend in _task_backends()):
            autodiscover_modules("tasks")
        post_migrate.connect(_make_tables, sender=self)
        request_started.connect(_open_file)


def _task_backends() -> list[dict[str, Any]]:
    return list(getattr(settings, "TASKS", {}).values())


def _make_tables(using: str, **_: Any) -> None:
    """Make the store's tables with those of the project, in the same database."""
    if tw.store_url == database_url(using):
        tw.store()


def _open_file(**_: Any) -> None:
    """Open an SQLite store before a request: inside a transaction, holding its lock, that would hang."""
    if not tw.store_url.startswith("sqlite:") or any(
        one.in_atomic_block for one in connections.all(initialized_only=True)
    ):
        return
    try:
        tw.store()
    except TickwiseError as error:
        _log.warning("the store cannot be opened", error=str(error))
