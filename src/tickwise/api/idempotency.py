"""A create that is sent twice with one `Idempotency-Key` is done once; the second gets the answer of the first.

The key is claimed in the store, so that two processes cannot both do it. A refusal is an answer, too; a request
that died on the way leaves its claim open, which runs out after a while.
"""

import json
from collections.abc import Callable, Coroutine
from hashlib import sha256
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError

from ..core.errors import TickwiseError
from .context import RequestContext
from .problems import Refusal, problem_text

_SECONDS = 60  # for which a claim without an answer holds
_LONGEST_KEY = 200
_KEPT_HEADERS = ("location", "etag", "content-type")


async def once(
    request: Request, context: RequestContext, make: Callable[[Request], Coroutine[Any, Any, Response]]
) -> Response:
    given = request.headers.get("idempotency-key")
    if given is None:
        return await make(request)
    if not 0 < len(given) <= _LONGEST_KEY or not given.isprintable():
        raise Refusal(422, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters", field="Idempotency-Key")
    access, key = context.store.access, f"idempotency:{_hash(context.identity.name, given)}"
    claim = await access.claim(key, _hash(request.url.path, (await request.body()).decode()), _SECONDS)
    if claim is None:
        response = await _answered(request, make)
        if response.status_code < 500:
            await access.answer(key, _kept(response))
        return response
    if claim.mark != _hash(request.url.path, (await request.body()).decode()):
        raise Refusal(422, "this Idempotency-Key was used for another request: take a new one")
    if claim.answer is None:
        later = {"Retry-After": "1"}
        raise Refusal(409, "a request with this Idempotency-Key is under way: try again", headers=later)
    return _again(claim.answer)


async def _answered(request: Request, make: Callable[[Request], Coroutine[Any, Any, Response]]) -> Response:
    try:
        return await make(request)
    except (TickwiseError, RequestValidationError) as error:
        return problem_text(error)


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()


def _kept(response: Response) -> str:
    headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    return json.dumps([response.status_code, headers, bytes(response.body).decode()])


def _again(answer: str) -> Response:
    status, headers, body = json.loads(answer)
    return Response(body, status, {**headers, "Idempotent-Replayed": "true"})
