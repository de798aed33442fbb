"""The admin's pages: schedules and runs, to be read by people with the permission to view them, and why."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path

from ..core.errors import InputError, TickwiseError
from . import tw
from .models import ListedRun, ListedSchedule

_MAX_ROWS = 200


class _ReadOnlyAdmin(admin.ModelAdmin):
    """A list that is read from the store."""

    template = ""

    def has_add_permission(self, *_: Any) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission

    def changelist_view(
        self, request: HttpRequest, extra_context: Mapping[str, Any] | None = None
    ) -> HttpResponse:
        return self._page(request, self.template, self.rows, **(extra_context or {}))

    def rows(self, request: HttpRequest) -> Mapping[str, Any]:
        raise NotImplementedError

    def _page(self, request: HttpRequest, template: str, read: Any, **context: Any) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            context |= read(request)
        except InputError as error:
            raise Http404(str(error)) from None
        except TickwiseError as error:
            context["problem"] = str(error)
        title = str(self.opts.verbose_name_plural).capitalize()
        everywhere = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        return TemplateResponse(request, f"tickwise/{template}", {**everywhere, **context})


@admin.register(ListedSchedule)
class ScheduleAdmin(_ReadOnlyAdmin):
    template = "schedules.html"

    def get_urls(self) -> list[Any]:
        why = self.admin_site.admin_view(self.why_view)
        return [path("<str:name>/why/", why, name="tickwise_why"), *super().get_urls()]

    def rows(self, request: HttpRequest) -> Mapping[str, Any]:
        text = request.GET.get("q", "")
        found = tw.schedules.list(text=text or None)
        return {"rows": found[:_MAX_ROWS], "left_out": len(found) - _MAX_ROWS, "q": text}

    def why_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """Why a slot ran or did not; without one, the newest that is due."""

        def explain(request: HttpRequest) -> Mapping[str, Any]:
            return {"why": tw.why(name, request.GET.get("slot") or None), "name": name}

        return self._page(request, "why.html", explain)


@admin.register(ListedRun)
class RunAdmin(_ReadOnlyAdmin):
    template = "runs.html"

    def rows(self, request: HttpRequest) -> Mapping[str, Any]:
        filters = {name: request.GET[name] for name in ("job", "schedule") if request.GET.get(name)}
        return {"rows": list(islice(tw.runs.list(**filters, limit=_MAX_ROWS), _MAX_ROWS)), "filters": filters}
