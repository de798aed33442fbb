"""Errors that a person can act on."""

import pytest

from tickwise.core.errors import CronError, InputError, TickwiseError, did_you_mean, nearest_word, no_such


def test_each_error_says_whose_fault_it_is() -> None:
    """The edges read status and exit code from the class, never from the text."""
    assert (TickwiseError.http_status, TickwiseError.exit_code) == (500, 1)
    assert (InputError.http_status, InputError.exit_code) == (422, 2)
    assert issubclass(CronError, InputError)
    assert issubclass(InputError, ValueError)


@pytest.mark.parametrize(
    ("word", "hint"),
    [("mnoday", " (did you mean Monday?)"), ("TUESDAY", " (did you mean Tuesday?)"), ("zzz", ""), ("", "")],
)
def test_the_nearest_right_word(word: str, hint: str) -> None:
    """A near miss is named, whatever its case; a far one is not guessed at."""
    assert did_you_mean(nearest_word(word, ["Monday", "Tuesday"])) == hint


def test_what_was_probably_meant_is_data_as_well_as_text() -> None:
    """The edges read the nearest word from the error, never from its message; other words keep it."""
    error = no_such("job", "refersh", ["refresh", "other"], ": define it first")
    assert str(error) == "there is no job 'refersh' (did you mean refresh?): define it first"
    assert error.nearest == "refresh"
    again = error.reworded(f"job: {error}", field="job")
    assert (again.field, again.nearest, str(again)) == ("job", "refresh", f"job: {error}")


def test_a_long_text_is_shown_around_the_mistake() -> None:
    """The caret stands under the offending piece even when only a part of the text is shown."""
    source = "0," * 200 + "xx," + "0," * 200
    error = CronError("bad", source=source, field="minute", position=400, text="xx")
    _, shown, carets = str(error).splitlines()
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "xx"
    assert shown.strip().startswith("…")
    assert shown.endswith("…")
    assert len(shown) < 80


def test_unprintable_characters_do_not_reach_the_terminal() -> None:
    """Control characters in a text are shown as a replacement sign."""
    assert "\x1b" not in str(CronError("bad", source="\x1b[31m", field="minute", position=0, text="\x1b"))
