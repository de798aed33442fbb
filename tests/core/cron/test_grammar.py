"""Reading a text: what is refused and where the caret points, what H stands for, and that nothing else happens."""

import string
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tickwise.core.cron import CronError, parse
from tickwise.core.cron.walk import Cron
from tickwise.core.errors import InputError

law = settings(derandomize=True, deadline=None, database=None, max_examples=1_500)


def refused(text: str, key: str = "") -> CronError:
    """The error of a text, after checking that it points into the text and shows a caret where it says."""
    with pytest.raises(CronError) as caught:
        parse(text, key=key)
    error = caught.value
    assert 0 <= error.position <= len(text)
    assert text[error.position : error.position + len(error.text)] == error.text
    message, shown, carets = str(error).rsplit("\n", 2)
    assert message == error.problem
    assert set(carets) == {" ", "^"}
    first = carets.index("^")
    assert shown[first : first + 1] in (text[error.position : error.position + 1], "�")
    assert len(str(error)) < 500
    return error


# one row a mistake: the text, the field, the offending piece («» marks it in the text), a part of the message
MISTAKES = """
«60» * * * * | minute | out of range 0-59
* «24» * * * | hour | out of range 0-23
* * «0» * * | day-of-month | out of range 1-31
* * «32» * * | day-of-month | out of range 1-31
* * * «0» * | month | out of range 1-12
* * * «13» * | month | out of range 1-12
* * * * «8» | day-of-week | out of range 0-7
«60» * * * * * | second | out of range 0-59
0,«60» * * * * | minute | out of range 0-59
0-«60» * * * * | minute | out of range 0-59
5,10-20,30-«99»/5 * * * * | minute | out of range 0-59
* * * * 1,«9»#2 | day-of-week | out of range 0-7
* * * * 5#«6» | day-of-week | out of range 1-5
* * * * 5#«0» | day-of-week | out of range 1-5
* * «32»W * * | day-of-month | out of range 1-31
* * «0»W * * | day-of-month | out of range 1-31
* * L-«31» * * | day-of-month | out of range
*/«0» * * * * | minute | out of range 1-9999
*/«10000» * * * * | minute | out of range 1-9999
1-«99999999» * * * * | minute | out of range 0-59
H(0-«60») * * * * | minute | out of range 0-59
«50-10» * * * * | minute | runs backwards
* * * «NOV-FEB» * | month | runs backwards
* * * * «FRI-MON» | day-of-week | runs backwards
* * * * «6-0» | day-of-week | runs backwards
«H(30-10)» * * * * | minute | runs backwards
«a» * * * * | minute | cannot read 'a'
«-1» * * * * | minute | cannot read '-1'
«1-» * * * * | minute | cannot read '1-'
«1-2-3» * * * * | minute | cannot read '1-2-3'
«1/2/3» * * * * | minute | cannot read '1/2/3'
«*5» * * * * | minute | cannot read '*5'
«1.5» * * * * | minute | cannot read '1.5'
«?» * * * * | minute | cannot read '?'
«L» * * * * | minute | cannot read 'L'
* * * * «L» | day-of-week | cannot read 'L'
* * * * «15W» | day-of-week | cannot read '15W'
* * «5#3» * * | day-of-month | cannot read '5#3'
* * «?/2» * * | day-of-month | cannot read '?/2'
* * * «SEPP» * | month | did you mean SEP?
* * * * MON,«TUSDAY» | day-of-week | did you mean TUESDAY?
* * * «JU» * | month | cannot read 'JU'
* * * * «&» | day-of-week | cannot read '&'
* * «L»-W * * | day-of-month | cannot read 'L'
* * L-«31»W * * | day-of-month | out of range 0-30
* * 3-«LW» * * | day-of-month | cannot read 'LW'
* 3-«L» * * * | hour | cannot read 'L'
* * * * MON-FRI#«6» | day-of-week | out of range 1-5
* * * * * * «1969» | year | out of range 1970-2099
* * * * * * «H» | year | cannot read 'H'
* * * * * * «H(2020-2030)» | year | cannot read 'H(2020-2030)'
* * * * * * «2030-2027» | year | runs backwards
0 0 0 «29» 2 ? 2025-2027 | day-of-month | never has a day '29' in '2025-2027'
0 0 «30» 2 MON& | day-of-month | never fires
* * * «MON» * | month | cannot read 'MON'
1,«,»2 * * * * | minute | extra comma
«,»1 * * * * | minute | extra comma
1«,» * * * * | minute | extra comma
* * * *«» | expression | this one has 4
* * * * * * * «*» | expression | this one has 8
«» | expression | this one has 0
0 0 «30» 2 * | day-of-month | never fires
0 0 «31» 4,6,9,11 * | day-of-month | never fires
0 0 «L-30» 2,4 * | day-of-month | never fires
0 0 «30» FEB */2 | day-of-month | never fires
0 0 «31W» 6 * | day-of-month | never fires
«@reboot» | expression | names no time
«@dayly» | expression | did you mean @daily?
@daily «5» | expression | nothing may follow
@every«» | expression | write @every 90s
@every «90» | expression | not a duration
@every «0s» | expression | not a duration
@every «-5m» | expression | not a duration
@every 5m «shift» 1m | expression | write @every 90s
@every 5m offset «5m» | expression | shorter than the interval
@every 5m offset «x» | expression | not a duration
CRON_TZ=«Mars/Base» 0 0 * * * | timezone | unknown time zone
TZ=«» 0 0 * * * | timezone | unknown time zone
""".strip().splitlines()


@pytest.mark.parametrize("row", MISTAKES)
def test_mistakes_are_pointed_at(row: str) -> None:
    """A refusal names the field, the position and the text, and says what is wrong (S38)."""
    marked, field, problem = (part.strip() for part in row.split(" | "))
    before, text, _ = marked.replace("»", "«").split("«")
    error = refused(marked.replace("«", "").replace("»", ""))
    assert (error.field, error.position, error.text) == (field, len(before), text)
    assert problem in error.problem


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("0 H(22-4) * * *", "H chooses from a range that does not go around"),
        ("0 0 * * THU-TUE/2", "runs backwards"),
        ("0 0 * * SAT-THU/3", "runs backwards"),
        ("0 22-4/2 * * *", "write 22,0,2,4"),
        ("0 0 * NOV-MAR/2 *", "write 11,1,3"),
        ("0 0 25-5/2 * *", "runs backwards"),
        ("0 0 25-5 * *", "write 25-31,1-5"),
        ("0 0 * * FRI-MON#1", "write 5-6#1,0-1#1"),
        ("0 0 * * 7-3", "write 0-3"),
        ("59-0 * * * *", "write 59,0"),
    ],
)
def test_advice_means_what_was_written(text: str, advice: str) -> None:
    """A22, S38: for a range that runs backwards there is the right advice, or none."""
    problem = refused(text).problem
    assert problem.endswith(advice)
    if "write" in advice:
        span = next(word for word in text.split() if "-" in word)
        parse(text.replace(span, advice.removeprefix("write ")))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("@DAILY", "@daily"),
        ("@Every 90s OFFSET 5s", "@every 90s offset 5s"),
        ("0 0 * * Friday", "0 0 * * 5"),
        ("0 0 * * tues,THURS", "0 0 * * 2,4"),
        ("0 0 1 August *", "0 0 1 8 *"),
        ("0 0 1 sept-NOVEMBER *", "0 0 1 9-11 *"),
        ("0 0 * * Saturday-Sunday", "0 0 * * 6,0"),
        ("0 0 * * FridayL", "0 0 * * 5L"),
        ("0 0 25-L * *", "0 0 25-31 * *"),
        ("0 0 20-L/5 * *", "0 0 20,25,30 * *"),
        ("0 0 * * MON-FRI#1", "0 0 * * 1#1,2#1,3#1,4#1,5#1"),
        ("0 0 L-0W,L-0 * *", "0 0 LW,L * *"),
        ("0 0 1 * MON& ", "0 0 1 * 1&"),
        ("0 0 1 * *&", "0 0 1 * *"),
        ("0 0 0 1 1 ? *", "0 0 0 1 1 ?"),
        ("0 0 0 1 1 ? 1970-2099", "0 0 0 1 1 *"),
    ],
)
def test_ways_to_write_the_same(text: str, same: str) -> None:
    """S37: names of any length and case, ranges to the last day and of n-th weekdays, and a year."""
    assert parse(text) == parse(same)
    assert parse(str(parse(text))) == parse(same)


def test_both_is_an_ampersand() -> None:
    """S61: `both` asks that day-of-month and day-of-week match, and is kept in the text."""
    asked = parse("0 9 1-7 * MON", both=True)
    assert asked == parse("0 9 1-7 * MON&") == parse("0 9 1-7 * MON&", both=True)
    assert (asked != parse("0 9 1-7 * MON"), str(asked)) == (True, "0 9 1-7 * MON&")
    assert str(parse("0 0 9 1-7 * MON 2030", "Asia/Tokyo", both=True)) == (
        "CRON_TZ=Asia/Tokyo 0 0 9 1-7 * MON& 2030"
    )
    for text in ("0 9 * * MON", "0 9 1 * *", "0 9 */2 * MON"):
        assert (parse(text, both=True), str(parse(text, both=True))) == (parse(text), text)
    for text in ("@daily", "@every 5m"):
        with pytest.raises(CronError, match="`both` goes with five fields or more"):
            parse(text, both=True)


@pytest.mark.parametrize("text", ["H(1-7)", "H(0-7)", "H(3-7)"])
def test_h_of_weekdays_may_end_with_7(text: str) -> None:
    """A22, S37: Sunday is 0 or 7 under H, too, and not twice as likely."""
    met = [parse(f"0 0 * * {text}", key=key) for key in KEYS]
    assert all(parse(str(cron)) == cron for cron in met)
    days = [t.isoweekday() % 7 for cron in met if (t := cron.next(datetime(2026, 1, 1, tzinfo=UTC)))]
    assert set(days) == (set(range(3, 8)) - {7} | {0} if text == "H(3-7)" else set(range(7)))
    assert max(map(days.count, days)) < 1.5 * len(days) / len(set(days))
    assert {str(parse("0 0 * * H(1-7)/2", key=key)) for key in KEYS} == {"0 0 * * 1-7/2", "0 0 * * 2-7/2"}


@pytest.mark.parametrize(
    "text",
    [
        "," * 1_000_000,
        "1," * 490 + "60 * * * *",
        "0" * 10_000 + " * * * *",
        "9" * 900 + " * * * *",
        "*/" + "9" * 900 + " * * * *",
        "0 0 L-" + "9" * 900 + " * *",
        "0 0 " + "9" * 900 + "W * *",
        "0 0 * * 5#" + "9" * 900,
        "H(" + "0" * 400 + "-" + "9" * 400 + ") * * * *",
        "(" * 990 + " * * * *",
        "* " * 400,
        "*" * 999,
        "@every " + "9" * 900 + "s",
        "@" + "x" * 900,
        "TZ=" + "A/" * 400 + " @daily",
        "1-99999999 * * * *",
        "0-59/1," * 140 + "x * * * *",
    ],
)
def test_size_is_bounded(text: str) -> None:
    """Texts made to take long or to fill memory are refused, with a short message (S38)."""
    refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "\0 * * * *",
        "* * * * *\0",
        "\ud800 * * * *",
        "* * * * \udfff",
        "٣ * * * *",
        "5 ３ * * *",
        "² * * * *",
        "* * * ſEP *",
        "* * * * ﬁ",
        "* * * * fr\u0131",
        "1\u200b * * * *",
        "\u202e * * * *",
        "* * * * MON\x1b[31m",
        "-٣ * * * *",
        "*/٣ * * * *",
        "CRON_TZ=\ud800 * * * * *",
        "@every ٣s",
        "\N{PILE OF POO} * * * *",
    ],
)
def test_strange_characters(text: str) -> None:
    """Only ASCII letters and digits count; nothing unprintable comes back in a message (S38)."""
    error = refused(text)
    *_, shown, _ = str(error).split("\n")
    assert shown.isprintable()


@pytest.mark.parametrize("text", ["* * *\n* *", "\t* * * * *\r\n", "*\u00a0* * * *", "* * * * *\u2028"])
def test_any_white_space_parts_fields(text: str) -> None:
    """Fields are parted by white space of any kind and length (S37)."""
    assert parse(text) == parse("* * * * *")
    assert str(parse(text)) == "* * * * *"


@pytest.mark.parametrize("text", [None, 5, b"* * * * *", ["*"] * 5])
def test_only_text_is_read(text: object) -> None:
    """Something that is no text is the caller's error, not a crash."""
    with pytest.raises(InputError, match="is text, not"):
        parse(text)  # type: ignore[arg-type]


def check_any(text: str) -> None:
    """A text is either read, and then comes back from its own text, or refused with a sound error."""
    try:
        cron = parse(text, key="any")
    except CronError:
        refused(text, key="any")
    else:
        assert parse(str(cron)) == cron
        assert cron.after(-1) is not None


@law
@given(st.text(max_size=60))
@example("0 0 H(29-31) * *")
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever is typed, the answer is a schedule or a CronError that points into the text (S38)."""
    check_any(text)


FRAGMENTS = [
    *string.digits,
    *"*/-,#?LWH()@=& ",
    "H(",
    "L-",
    "LW",
    "FRI",
    "sunday",
    "DEC",
    "2027",
    "@every ",
    "offset",
    "TZ=UTC ",
]
nearly_fields = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6).map("".join)


@law
@given(st.lists(st.one_of(nearly_fields, st.sampled_from(["*", "0", "H", "1-5", "*/2"])), min_size=4, max_size=8))
def test_nearly_right_texts_are_read_or_refused(fields: list[str]) -> None:
    """The same for texts made of the right pieces in any order (S38)."""
    check_any(" ".join(fields))


# --- H -------------------------------------------------------------------------------------------------------

KEYS = [f"job-{n}" for n in range(1_000)]
RANGES = (range(60), range(24), range(1, 29), range(1, 13), range(7))


def hashed(text: str, key: str) -> str:
    """What a text with H came to."""
    cron = parse(text, key=key)
    assert isinstance(cron, Cron)
    assert "H" not in cron.text
    assert parse(cron.text) == cron
    return cron.text


@pytest.mark.parametrize("place", range(5))
def test_h_spreads_over_the_whole_field(place: int) -> None:
    """H is one value of its field for each key; over many keys it is every value, none far more often (S36)."""
    met = [int(hashed("H H H H H", key).split()[place]) for key in KEYS]
    assert set(met) <= set(RANGES[place])
    assert len(set(met)) >= min(len(RANGES[place]), 55)
    assert max(map(met.count, met)) <= 3 * len(KEYS) / len(RANGES[place])


@pytest.mark.parametrize(
    ("text", "low", "high", "step"),
    [
        ("H(0-29) * * * *", 0, 29, 60),
        ("H(5-5) * * * *", 5, 5, 60),
        ("H/15 * * * *", 0, 59, 15),
        ("H(10-40)/7 * * * *", 10, 40, 7),
        ("H/60 * * * *", 0, 59, 60),
        ("H(3-9)/500 * * * *", 3, 9, 500),
    ],
)
def test_h_keeps_to_its_range_and_step(text: str, low: int, high: int, step: int) -> None:
    """H(a-b) stays within a and b; H/n starts somewhere in the first n and goes on by n (S36)."""
    starts = set()
    for key in KEYS:
        minutes = [t.minute for t in parse(text, key=key).between(*one_hour())]
        assert minutes == list(range(minutes[0], high + 1, step))
        assert all(b - a == step for a, b in pairwise(minutes))
        starts.add(minutes[0])
    assert starts == set(range(low, min(low + step, high + 1)))


def one_hour() -> tuple[datetime, datetime]:
    return datetime(2026, 1, 1, 5, tzinfo=UTC), datetime(2026, 1, 1, 6, tzinfo=UTC)


@pytest.mark.parametrize("days", ["H(29-31)", "H(1-31)", "H(30-31)", "H(1-31)/40", "H/31"])
def test_h_of_late_days(days: str) -> None:
    """Only a plain H keeps to the days every month has; a range that is written out means what it says (S36)."""
    low = 29 if "29" in days else 30 if "30" in days else 1
    met = {int(hashed(f"0 0 {days} * *", key).split()[2].split("-")[0].split("/")[0]) for key in KEYS}
    assert met == set(range(low, 32))


def test_h_is_the_same_everywhere() -> None:
    """H depends on the key and the field alone: fixed values, to be kept for all versions (S36)."""
    assert hashed("H H H H H", "nightly") == hashed("H H H H H", "nightly")
    assert hashed("H 5 * * *", "nightly").split()[0] == hashed("H H 1 1 *", "nightly").split()[0]
    assert hashed("h h * * *", "nightly") == hashed("H H * * *", "nightly")
    assert [hashed("H H H H H H", key) for key in ("nightly", "", "\ud800")] == [
        "20 15 5 20 2 2",
        "2 44 5 8 4 2",
        "35 26 10 11 12 6",
    ]
