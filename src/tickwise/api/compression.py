"""Gzip for responses, where the client accepts it.

Only successful GETs are compressed. What holds a secret is the response of a POST (tokens, links, sessions), so no
length of a compressed response depends on one. A response with an `ETag` is sent as it is: the tag is of its
bytes, and clients compare it in `If-Match`.
"""

import asyncio
import gzip
import re

from fastapi import Request, Response

MIN_SIZE = 1_000  # bytes
_IN_THREAD = 100_000  # bytes that take milliseconds
_LEVEL = 5
_TYPES = ("application/json", "text/plain")
_ACCEPTED = re.compile(r"(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q=(?P<q>[\d.]+)\s*)?(?=,|$)", re.IGNORECASE)
HEADERS = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}


def accepts_gzip(request: Request) -> bool:
    found = _ACCEPTED.search(request.headers.get("accept-encoding", ""))
    return found is not None and (found["q"] is None or found["q"].strip("0.") != "")


def compress(body: bytes) -> bytes:
    """The same bytes for the same body, at any time."""
    return gzip.compress(body, _LEVEL, mtime=0)


async def compressed(request: Request, response: Response) -> Response:
    """The response, compressed if that is worth it."""
    body = getattr(response, "body", b"")  # one that is streamed has none
    headers = response.headers
    if (
        response.status_code != 200
        or len(body) < MIN_SIZE
        or not headers.get("content-type", "").startswith(_TYPES)
    ):
        return response
    if "etag" in headers or "content-encoding" in headers:
        return response
    headers["Vary"] = HEADERS["Vary"]
    if not accepts_gzip(request):
        return response
    response.body = await asyncio.to_thread(compress, body) if len(body) > _IN_THREAD else compress(body)
    headers.update({**HEADERS, "Content-Length": str(len(response.body))})
    return response
