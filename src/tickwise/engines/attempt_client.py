"""The API as the work of a handed-over attempt uses it: four requests, by the standard library alone.

Each request has one of three results: an answer; a refusal, after which this work has nothing to do here any more;
or nothing that counts as an answer (no connection, a proxy's error page, a server that restarts), after which the
same request is right and safe. Redirects are not followed: they would take the secret elsewhere.
"""

import json
import ssl
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

from ..core.codec import decode_job
from ..core.definition import JobDefinition
from ..core.errors import InputError, TickwiseError
from ..core.settle import Outcome
from ..core.work_report import reported
from ..runtime.context import RunContext
from ..stores.records import MICRO, LogPart, StepReport

API, ATTEMPT, TICKET, API_CA = "TICKWISE_API", "TICKWISE_ATTEMPT", "TICKWISE_TICKET", "TICKWISE_API_CA"
_NEEDED = {
    API: "the address of the API, such as https://tickwise.example:8484",
    ATTEMPT: "the reference of the attempt, such as 7.1",
    TICKET: "the ticket of the attempt",
}
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_LEAVE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})
_UNFIT = frozenset({HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.REQUEST_ENTITY_TOO_LARGE})
_LATER = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
_MAX_ANSWER = 16 << 20  # bytes


class ApiUnreachableError(TickwiseError):
    """The API did not answer: what was said may or may not have arrived."""


class AttemptRefusedError(TickwiseError):
    """The API tells this work to leave: the attempt is over, or others have begun it."""


class AttemptAccess(NamedTuple):
    """Where the API is, which attempt this is, and the ticket for its gate."""

    api: str
    reference: str
    ticket: str
    ca: str = ""  # a file with the certificates to trust instead of the system's

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "AttemptAccess":
        """As an engine has passed them on; InputError names what is missing."""
        for name, meaning in _NEEDED.items():
            if not environment.get(name):
                raise InputError(
                    f"the variable {name} is not set: it has {meaning}, and comes from the engine that starts this"
                )
        api = environment[API].rstrip("/")
        try:
            parts = urlsplit(api)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query
        except ValueError:
            is_address = False
        if not is_address:
            raise InputError(f"{API} is {api[:100]!r}: write {_NEEDED[API]}")
        return cls(api, environment[ATTEMPT], environment[TICKET], environment.get(API_CA, ""))


class BegunWork(NamedTuple):
    """What the gate said: what to do."""

    run: RunContext
    definition: str
    done: dict[str, dict[str, Any]]  # steps that are not repeated, with what they handed on
    lease: int  # seconds

    def job(self) -> JobDefinition:
        """InputError if this version of Tickwise cannot read it."""
        try:
            return decode_job(self.definition, self.run.job)
        except TickwiseError as error:
            problem = "this version of Tickwise cannot read the job: install the one that the API has"
            raise InputError(f"{problem}\n{error}") from None


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_given: Any) -> None:
        return None


class AttemptClient:
    """Requests of one attempt, with one of its secrets. Threads may share it."""

    def __init__(self, access: AttemptAccess, secret: str) -> None:
        self._base = f"{access.api}/api/v1/attempts/{access.reference}/"
        self._secret = secret
        self._opener = _opener(access)

    def begin(self, claim: str, timeout: float) -> BegunWork:
        answer = self._post("begin", {"claim": claim}, timeout)
        facts = answer["run"]
        slots = {name: _second(facts[name]) for name in ("slot", "previous_slot")}
        return BegunWork(RunContext(**facts | slots), answer["definition"], answer["done"], answer["lease"])

    def alive(self, timeout: float) -> bool:
        """Whether the work was asked to end."""
        return bool(self._post("alive", None, timeout)["cancel"])

    def report(self, steps: Sequence[StepReport], log: Sequence[LogPart], timeout: float) -> None:
        body = {
            "steps": list(map(_step_body, steps)),
            "log": [part._asdict() | {"at": _instant(part.at)} for part in log],
        }
        self._post("report", body, timeout)

    def finish(self, outcome: Outcome, result: Any, error: str, timeout: float) -> bool:
        """Whether this report has ended the attempt: false if it was over before."""
        word, seconds = reported(outcome)
        body = {"outcome": word, "seconds": seconds, "result": result, "error": error}
        return bool(self._post("finish", body, timeout)["accepted"])

    def _post(self, move: str, body: Any, timeout: float) -> Any:
        data = None if body is None else json.dumps(body, ensure_ascii=False, default=dict).encode()
        headers = {"Authorization": f"Bearer {self._secret}", "Content-Type": "application/json"}
        request = Request(self._base + move, data or b"", headers, method="POST")  # noqa: S310  (checked: http only)
        try:
            with self._opener.open(request, timeout=timeout) as response:
                text = response.read(_MAX_ANSWER)
            return json.loads(text) if text else None
        except HTTPError as error:
            raise _error_from(error) from None
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, ssl.SSLCertVerificationError):
                advice = f"name the file of its authority in {API_CA}"
                raise TickwiseError(
                    f"the certificate of {self._base} is not trusted ({reason}): {advice}"
                ) from None
            raise ApiUnreachableError(f"the API at {self._base} does not answer: {reason}") from None


def _opener(access: AttemptAccess) -> OpenerDirector:
    handlers: list[Any] = [_NoRedirects()]
    if urlsplit(access.api).hostname in _LOCAL:
        handlers.append(ProxyHandler({}))
    if access.api.startswith("https:"):
        try:
            context = ssl.create_default_context(cafile=access.ca or None)
        except OSError as error:
            raise InputError(f"{API_CA} names {access.ca}, which cannot be used: {error}") from None
        handlers.append(HTTPSHandler(context=context))
    return build_opener(*handlers)


def _error_from(error: HTTPError) -> TickwiseError:
    """What a response with an error means. Only a problem document of the API says anything about the attempt."""
    with error:
        text = error.read(_MAX_ANSWER)
    is_problem = error.headers.get_content_type() == "application/problem+json"
    detail = str(json.loads(text).get("detail", "")) if is_problem else f"{error.url} answered {error.code}"
    if not is_problem or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code in _LATER:
        return ApiUnreachableError(detail)
    if error.code in _LEAVE:
        return AttemptRefusedError(detail)
    return InputError(detail) if error.code in _UNFIT else TickwiseError(f"the API refuses this work: {detail}")


def _second(text: str | None) -> int | None:
    return None if text is None else round(datetime.fromisoformat(text).timestamp())


def _instant(micro: int | None) -> str | None:
    return None if micro is None else datetime.fromtimestamp(micro / MICRO, UTC).isoformat()


def _step_body(step: StepReport) -> dict[str, Any]:
    """A step as it is sent. None of work on an engine waits for what others do (S74)."""
    body = step._asdict() | {name: _instant(getattr(step, name)) for name in ("started_at", "finished_at")}
    del body["waits_for"]
    return body
