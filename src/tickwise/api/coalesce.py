"""An answer that several ask for at once, word for word, is made once.

When something happens, every open page asks the same. Who asks while an answer is being made does not get that
one, for it may be older than what they know of: another is made when it is done, for all who have asked by then.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable

from fastapi import Response


class _Making:
    """An answer for those who ask before it is begun."""

    def __init__(self) -> None:
        self.begun = False
        self.over = asyncio.Event()
        self.answer: Response | None = None  # none, if it failed, or is sent piece by piece


class RequestCoalescer:
    """One for an application."""

    def __init__(self) -> None:
        self._newest: dict[Hashable, _Making] = {}

    async def answer(self, question: Hashable, make: Callable[[], Awaitable[Response]]) -> Response:
        before = self._newest.get(question)
        if before and not before.begun:
            await before.over.wait()
            return before.answer or await make()
        making = self._newest[question] = _Making()
        try:
            if before:
                await before.over.wait()
            making.begun = True
            answer = await make()
            making.answer = answer if hasattr(answer, "body") else None
            return answer
        finally:
            making.begun = True
            making.over.set()
            if self._newest[question] is making:
                del self._newest[question]
