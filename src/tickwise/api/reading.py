"""What a body may be: JSON of a bounded size and depth, and of characters that every store can keep."""

import json

from fastapi import Request

from ..core.payload import Unfit, weigh
from .problems import Refusal

_TOO_DEEP = "the body is nested too deeply: flatten it"


async def checked_body(request: Request) -> None:
    """Refuse a body that nothing behind us could use; Pydantic sees the rest."""
    body = await request.body()
    if not body:
        return
    if "json" not in request.headers.get("content-type", "").partition(";")[0].lower():
        raise Refusal(415, "the body must be JSON: send Content-Type: application/json")
    try:
        weigh(json.loads(body.decode("utf-8")))
    except Unfit as unfit:
        way = unfit.path.lstrip(".")[:200]
        raise Refusal(422, f"{way or 'the body'} {unfit.problem}", field=way or None) from None
    except RecursionError:
        raise Refusal(422, _TOO_DEEP) from None
    except UnicodeDecodeError:
        raise Refusal(422, "the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Refusal(422, f"the body is not JSON: {error.msg} at {where}", position=error.pos) from None
    except ValueError:
        raise Refusal(422, "the body holds a number that is too long") from None
