"""The engines that the settings name, and those that people write themselves."""

import sys

import pytest

from tickwise.core.errors import InputError
from tickwise.runtime.engines.catalog import KINDS, read_engines
from tickwise.testing.engines import FakeEngine


def test_an_engine_of_ones_own_is_named_by_its_class() -> None:
    """It is imported when it is used, and gets its table of the settings."""
    own = read_engines({"mine": {"kind": "tickwise.testing.engines:FakeEngine"}})["mine"]
    opened = own.open()
    assert isinstance(opened, FakeEngine)
    assert opened.name == "mine"
    own.check({}, at_most_once=True)
    with pytest.raises(InputError, match="no_such"):
        own.check({"no_such": 1}, at_most_once=False)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("no.such.module:Engine", "no.such.module cannot be imported"),
        ("tickwise.core.errors:InputError", "is not a class of engine"),
        ("tickwise.core.errors:Nothing", "is not a class of engine"),
    ],
)
def test_a_class_that_is_no_engine_is_refused(kind: str, problem: str) -> None:
    """The error names the engine and the class."""
    with pytest.raises(InputError, match=problem) as refused:
        read_engines({"mine": {"kind": kind}})["mine"].open()
    assert "mine" in str(refused.value)


@pytest.mark.parametrize("kind", ["dsak", "", ":", "a b:C", "os:", 7, None])
def test_a_kind_that_cannot_be_is_refused(kind: object) -> None:
    """With all the kinds that there are."""
    with pytest.raises(InputError, match="dask") as refused:
        read_engines({"mine": {"kind": kind}})
    assert all(known in str(refused.value) for known in KINDS)


@pytest.mark.parametrize(
    ("kind", "library", "settings"),
    [("dask", "distributed", {"address": "tcp://a:8786"}), ("kubernetes", "lightkube", {})],
)
def test_a_missing_library_is_named_with_its_command(
    kind: str, library: str, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command installs what the kind needs."""
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"tickwise.runtime.engines.{kind}", raising=False)
    with pytest.raises(InputError, match=rf"\({library}\): pip install 'tickwise\[{kind}\]'"):
        read_engines({"mine": {"kind": kind, **settings}})["mine"].open()
