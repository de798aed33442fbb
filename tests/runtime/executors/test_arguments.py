"""Params, bound by name to what a function takes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tickwise.core.errors import InputError
from tickwise.runtime.executors.arguments import arguments_for, check_arguments


def plain(table: str, limit: int = 10) -> None: ...


def with_run(table: str, run: Any = None) -> None: ...


def anything(**others: Any) -> None: ...


def nothing() -> None: ...


def by_position(table: str, /) -> None: ...


@pytest.mark.parametrize(
    ("function", "params"),
    [
        (plain, {"table": "a"}),
        (plain, {"table": "a", "limit": 3}),
        (with_run, {"table": "a"}),
        (anything, {"what": 1, "ever": 2}),
        (nothing, {}),
        (partial(plain, "a"), {"limit": 3}),
    ],
)
def test_what_fits_is_taken(function: Callable[..., Any], params: dict[str, Any]) -> None:
    """Params that the function can be called with are no error."""
    check_arguments(function, params)


@pytest.mark.parametrize(
    ("function", "params", "words"),
    [
        (
            plain,
            {"tabel": "a"},
            r"plain\(\) has no parameter tabel \(did you mean table\?\): it takes table, limit",
        ),
        (plain, {"limit": 3}, r"plain\(\) needs a value for table: give it in params"),
        (nothing, {"x": 1}, r"nothing\(\) has no parameter x: it takes none"),
        (with_run, {"table": "a", "run": 1}, r"with_run\(\) gets `run` from Tickwise"),
        (by_position, {"table": "a"}, r"by_position\(\) takes table by position only"),
        (type("Odd", (), {"__call__": print, "__signature__": 1})(), {"x": 1}, "does not tell its parameters"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(
    function: Callable[..., Any], params: dict[str, Any], words: str
) -> None:
    """Wrong params are told before the call, with the function, the name and the nearest right word."""
    with pytest.raises(InputError, match=words):
        check_arguments(function, params)


def test_run_is_given_to_who_asks() -> None:
    """A parameter named run gets the run, and a function without one does not."""
    assert arguments_for(with_run, {"table": "a"}, "the run") == {"table": "a", "run": "the run"}
    assert arguments_for(plain, {"table": "a"}, "the run") == {"table": "a"}


def test_shared_params_are_taken_by_name() -> None:
    """Of the params that all steps of a job share, a function gets those it names."""
    assert arguments_for(nothing, {"table": "a"}, None) == {}
    assert arguments_for(anything, {"table": "a"}, None) == {"table": "a"}
