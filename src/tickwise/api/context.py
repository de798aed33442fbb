"""The context of a request: its identity, what it sees, and what it may do to the store."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Request

from ..app import AsyncTickwise
from ..app.operations import Operations
from ..app.records import AuditEntry, Enqueue, JobRow
from ..app.stores import Access
from ..app.upcoming import ForecastCache
from ..app.values import RunInfo
from ..app.view import View
from ..core.errors import InputError, NotFoundError
from ..core.mask import masked
from .events import EventBroadcaster
from .identity import Identity
from .problems import Refusal


class RequestContext(NamedTuple):
    """What routes work with. They see the app, and no store: what the identity does not see is not there (404)."""

    tickwise: AsyncTickwise
    view: View
    operations: Operations
    access: Access
    identity: Identity
    events: EventBroadcaster
    forecasts: ForecastCache

    async def job_of_body(self, name: str) -> JobRow:
        """The job that a body names; 422 if there is none."""
        try:
            return await self.view.job(name)
        except NotFoundError as error:
            raise Refusal(422, str(error), field="job", nearest=error.nearest) from None

    def _entry(self, action: str, subject: str, before: Any = None, after: Any = None) -> AuditEntry:
        return AuditEntry(self.identity.name, action, subject, masked(before), masked(after))

    async def enqueue(self, request: Enqueue, body: Mapping[str, Any]) -> tuple[RunInfo, bool]:
        """Queue a run of the job that a body names; and whether it is new. 422 if there is no such job."""
        entry = self._entry("run.create", "", after=body)
        if not self.identity.sees(request.job):
            await self.job_of_body(request.job)
        try:
            return await self.operations.enqueue(request, entry)
        except InputError:
            await self.job_of_body(request.job)  # if it is not there, that is said as the identity sees it
            raise

    async def audit(self, action: str, subject: str, before: Any = None, after: Any = None) -> None:
        """Record an action in the audit, without secrets."""
        await self.access.record([self._entry(action, subject, before, after)])


async def _request_context(request: Request) -> RequestContext:  # a plain function would be called in a thread
    found: RequestContext = request.state.context
    return found


Context = Annotated[RequestContext, Depends(_request_context)]
