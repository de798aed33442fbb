"""`/healthz`, `/readyz`, `/openapi.json`."""

from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel
from starlette.responses import JSONResponse

from ...app.records import AccessRole
from ..routing import Router

router = Router("health")


class Health(BaseModel):
    status: str


@router.get("/healthz", None, response_model=Health)
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/readyz", None, response_model=Health, responses={503: {"model": Health}})
async def readyz(request: Request) -> Any:
    """The node is healthy, and the store answers."""
    if await request.app.state.ready():
        return Health(status="ready")
    return JSONResponse({"status": "not ready"}, 503)


@router.get("/openapi.json", AccessRole.VIEWER, include_in_schema=False)
async def openapi(request: Request) -> Response:
    return JSONResponse(request.app.openapi())
