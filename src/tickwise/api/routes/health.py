"""`/healthz`, `/readyz`, `/openapi.json`."""

from datetime import datetime
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel
from starlette.responses import JSONResponse

from ...app.health import NOT_READY
from ...app.records import AccessRole
from ..routing import Router

router = Router("health")


class Health(BaseModel):
    status: str
    since: datetime | None = None


@router.get("/healthz", None, response_model=Health)
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/readyz", None, response_model=Health, responses={503: {"model": Health}})
async def readyz(request: Request) -> Any:
    """The node decides what is due, and the store answers.

    `degraded` if the node's claims fail, `no room left` with `since` if none of its worker's runs ends.
    """
    readiness = await request.app.state.readiness()
    return JSONResponse(readiness.content(), 503 if readiness == NOT_READY else 200)


@router.get("/openapi.json", AccessRole.VIEWER, include_in_schema=False)
async def openapi(request: Request) -> Response:
    return JSONResponse(request.app.openapi())
