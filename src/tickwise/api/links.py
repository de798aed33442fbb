"""Links to resources and to the next page, under the path that the API is served at."""

from typing import TypeVar

from fastapi import Request, Response

from .schemas.common import PageResponse

T = TypeVar("T")


def address(request: Request, path: str) -> str:
    """The path of a resource, with the proxy's root path."""
    return f"{request.scope.get('root_path', '')}/api/v1{path}"


def page_of(request: Request, response: Response, items: list[T], after: str | None) -> PageResponse[T]:
    """A page with the link to the next, in its body and as a `Link` header."""
    if after is not None:
        following = request.url.include_query_params(after=after)
        response.headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    return PageResponse(items=items, next=after)
