"""`Idempotency-Key`: a request that is sent twice is done once, and the second gets the response of the first.

The key is claimed in the store, so that two processes cannot both do it. A refusal is a response, too. A claim
without a response expires after `_CLAIM_SECONDS`.
"""

import json
from collections.abc import Callable, Coroutine
from hashlib import sha256
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError

from ..core.errors import TickwiseError
from .context import RequestContext
from .problems import Refusal, problem_of_error

_CLAIM_SECONDS = 60  # for which a claim without a response holds
_MAX_KEY_LENGTH = 200
_KEPT_HEADERS = ("location", "etag", "content-type")


async def once(
    request: Request, context: RequestContext, make: Callable[[Request], Coroutine[Any, Any, Response]]
) -> Response:
    given = request.headers.get("idempotency-key")
    if given is None:
        return await make(request)
    if not 0 < len(given) <= _MAX_KEY_LENGTH or not given.isprintable():
        raise Refusal(422, f"an Idempotency-Key has 1 to {_MAX_KEY_LENGTH} characters", field="Idempotency-Key")
    access, key = context.access, f"idempotency:{_hash(context.identity.name, given)}"
    claim = await access.claim(key, _hash(request.url.path, (await request.body()).decode()), _CLAIM_SECONDS)
    if claim is None:
        response = await _respond(request, make)
        if response.status_code < 500:
            await access.answer(key, _encode_response(response))
        return response
    if claim.mark != _hash(request.url.path, (await request.body()).decode()):
        raise Refusal(422, "this Idempotency-Key was used for another request: take a new one")
    if claim.answer is None:
        later = {"Retry-After": "1"}
        raise Refusal(409, "a request with this Idempotency-Key is under way: try again", headers=later)
    return _decode_response(claim.answer)


async def _respond(request: Request, make: Callable[[Request], Coroutine[Any, Any, Response]]) -> Response:
    try:
        return await make(request)
    except (TickwiseError, RequestValidationError) as error:
        return problem_of_error(error)


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()


def _encode_response(response: Response) -> str:
    headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    return json.dumps([response.status_code, headers, bytes(response.body).decode()])


def _decode_response(answer: str) -> Response:
    status, headers, body = json.loads(answer)
    return Response(body, status, {**headers, "Idempotent-Replayed": "true"})
