"""Addresses of the API as people reach them: the next page, and what was made."""

from typing import TypeVar

from fastapi import Request, Response

from .schemas.common import PageResponse

T = TypeVar("T")


def address(request: Request, path: str) -> str:
    """Of a resource, under whatever path we are served."""
    return f"{request.scope.get('root_path', '')}/api/v1{path}"


def page_of(request: Request, response: Response, items: list[T], after: str | None) -> PageResponse[T]:
    """A page with the way to the next, in its body and as a `Link` header."""
    if after is not None:
        following = request.url.include_query_params(after=after)
        response.headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    return PageResponse(items=items, next=after)
