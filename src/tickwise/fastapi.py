"""The scheduler of a FastAPI application as a dependency.

app = FastAPI(lifespan=tw.lifespan)

@app.post("/orders/{order}")
async def place(order: int, tw: Scheduler): ...
"""

from typing import Annotated

from fastapi import Depends, Request

from .app import AsyncTickwise
from .core.errors import ConflictError

__all__ = ["Scheduler", "current_scheduler"]


async def current_scheduler(request: Request) -> AsyncTickwise:
    """The scheduler whose lifespan the application has; tests may override this dependency."""
    found = getattr(request.app.state, "tickwise", None)
    if not isinstance(found, AsyncTickwise):
        raise ConflictError("this application has no scheduler: make it with FastAPI(lifespan=tw.lifespan)")
    return found


Scheduler = Annotated[AsyncTickwise, Depends(current_scheduler)]
