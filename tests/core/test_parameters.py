"""Types of params that a definition declares (S30)."""

from typing import Any

import pytest

from tickwise.core.definition import Command, JobDefinition, Step
from tickwise.core.errors import InputError
from tickwise.core.parameters import ParamType, check_types

VALUES: dict[str, Any] = {
    "text": "a", "day": "2027-03-01", "wrong day": "2027-02-30", "whole": 3, "part": 1.5, "yes": True,
    "list": [1], "tuple": (1,), "mapping": {"a": 1}, "null": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fitting"),
    [
        (ParamType.STRING, {"text", "day", "wrong day"}),
        (ParamType.DATE, {"day"}),
        (ParamType.INTEGER, {"whole"}),
        (ParamType.NUMBER, {"whole", "part"}),
        (ParamType.BOOLEAN, {"yes"}),
        (ParamType.ARRAY, {"list", "tuple"}),
        (ParamType.OBJECT, {"mapping"}),
    ],
)
def test_what_a_type_takes(kind: ParamType, fitting: set[str]) -> None:
    """Exactly these; true is no number, and a date is a text in one form."""
    assert {name for name, value in VALUES.items() if kind.fits(value)} == fitting
    for name, value in VALUES.items():
        if name in fitting:
            check_types("it", {"x": kind}, {"x": value, "y": None})
        else:
            with pytest.raises(InputError, match=r"^it takes .* as x, and got ") as refused:
                check_types("it", {"x": kind}, {"x": value})
            assert refused.value.field == "params.x"


def test_a_job_with_types() -> None:
    """A param without a value in the definition is needed; one with a value is not."""
    steps = (Step("main", Command(("true",))),)
    job = JobDefinition("a", steps, params={"n": 1}, param_types={"n": ParamType.INTEGER, "day": ParamType.DATE})
    job.check_params({"day": "2027-03-01"})
    for given, problem in (({}, "needs a value for day"), ({"day": 3}, "takes a date"), ({"n": "x"}, "day")):
        with pytest.raises(InputError, match=problem):
            job.check_params(given)
