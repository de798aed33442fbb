"""The examples do what they say."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "documents"


def printed(name: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_basic() -> None:
    """The overdue reminders are given, the oldest first; one is done, one is gone, one has its next morning."""
    *given, first, second, third = printed("basic.py")
    assert given == ["Remember to water the plants.", "Remember to call Ada.", "Remember to buy milk."]
    assert first == "call Ada: done"
    assert re.fullmatch(r"water the plants: sleeps until \d{4}-\d\d-\d\dT0[56]:00:00\.000Z", second)
    assert third.startswith("renew the passport: sleeps until 20")


def test_mongodb_with_custom_fields(mongodb_url: str) -> None:
    """Times in dotted fields are read and written there, and letters of another kind are left alone."""
    lines = printed("mongodb.py", mongodb_url.replace("/?", "/tickwise_example?"))
    ada, bob, eve = sorted(lines[:3])
    assert (ada, bob) == ("Dear Ada: Hello", "Dear Bob: Once")
    assert re.match(r"Error with Eve: document .*: a cron expression has five fields", eve)
    shown = {line.split(" | ")[0]: line.split(" | ")[1:] for line in lines[3:]}
    assert list(shown) == ["Ada", "Eve", "Joe", "Zoe"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d 09:00:00", shown["Ada"][0])
    assert shown["Eve"][1].startswith("a cron expression has five fields")
    assert shown["Zoe"] == ["None", "no error"]
