"""What the admin lists: no tables, since schedules and runs are in the store, wherever that is."""

from typing import Any

from django.db import models


class _NoRows(models.Manager):
    """So that `dumpdata` and the like look for no table."""

    def get_queryset(self) -> Any:
        return super().get_queryset().none()


class ListedSchedule(models.Model):  # noqa: DJ008  (no row is ever shown)
    objects = _NoRows()

    class Meta:
        managed = False
        default_permissions = ("view",)
        verbose_name = "schedule"


class ListedRun(models.Model):  # noqa: DJ008
    objects = _NoRows()

    class Meta:
        managed = False
        default_permissions = ("view",)
        verbose_name = "run"
