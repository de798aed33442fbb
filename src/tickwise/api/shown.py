"""Rows of the store as bodies, with their secrets hidden."""

from ..app.values import RunInfo
from .bodies.runs import RunBody
from .masking import masked


def run_body(info: RunInfo) -> RunBody:
    body = RunBody.model_validate(info)
    return body.model_copy(update={"params": masked(body.params)})
