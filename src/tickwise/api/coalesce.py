"""Request coalescing: equal requests that come together share one response.

When something happens, every open page of the dashboard sends the same requests. A request that comes while an
equal one is being answered does not get that response, which may be older than what its sender has just done: it
waits for the next one, which is made for all that came meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable

from fastapi import Response


class _SharedResponse:
    """A response for all requests that come before it is begun."""

    def __init__(self) -> None:
        self.begun = False
        self.done = asyncio.Event()
        self.response: Response | None = None  # none if it failed, or is streamed


class RequestCoalescer:
    """One for an application."""

    def __init__(self) -> None:
        self._newest: dict[Hashable, _SharedResponse] = {}

    async def respond(self, key: Hashable, make: Callable[[], Awaitable[Response]]) -> Response:
        """The response that `make` gives, to this or to an equal request."""
        before = self._newest.get(key)
        if before and not before.begun:
            await before.done.wait()
            return before.response or await make()
        shared = self._newest[key] = _SharedResponse()
        try:
            if before:
                await before.done.wait()
            shared.begun = True
            response = await make()
            shared.response = response if hasattr(response, "body") else None
            return response
        finally:
            shared.begun = True
            shared.done.set()
            if self._newest[key] is shared:
                del self._newest[key]
