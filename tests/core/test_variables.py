"""Which variables of a worker its programs get."""

import pytest

from tickwise.core.variables import OF_THE_PROGRAM, ORDINARY, is_ordinary, passed_variables

ENVIRON = {
    "PATH": "/bin", "LC_ALL": "C", "TZ": "UTC", "PGPASSWORD": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "c",
    "TICKWISE_TOKEN": "d", "PATHOLOGY": "e",
}  # fmt: skip


@pytest.mark.parametrize(
    ("patterns", "passed"),
    [
        (ORDINARY, "PATH LC_ALL TZ"),
        (("AWS_*",), "AWS_SECRET_ACCESS_KEY AWS_REGION"),
        (("AWS_REGION", "AWS"), "AWS_REGION"),
        (("*",), "PATH LC_ALL TZ PGPASSWORD AWS_SECRET_ACCESS_KEY AWS_REGION PATHOLOGY"),
        (OF_THE_PROGRAM, " ".join(ENVIRON)),
        ((), ""),
    ],
)
def test_what_is_passed(patterns: tuple[str, ...], passed: str) -> None:
    """B14: ordinary variables, others by name or by how they begin, and settings only by a pattern of theirs."""
    assert list(passed_variables(ENVIRON, patterns)) == passed.split()


def test_which_are_no_secrets() -> None:
    """PWD is the current folder, whatever it sounds like."""
    assert [name for name in ("PATH", "LC_TIME", "PWD", "OLDPWD", "DB_PWD") if is_ordinary(name)] == [
        "PATH", "LC_TIME", "PWD", "OLDPWD",
    ]  # fmt: skip
