"""Messages for YAML syntax errors: what to change in a job file, instead of what the parser expected."""

import re

from ruamel.yaml.error import MarkedYAMLError

from ..spec.error import printable
from .text import Source

_UNQUOTED = re.compile(r"(?:^|[:?\-]\s+|(?P<flow>[\[{,]\s*))(?P<text>(?P<sign>[*@%`])[^#\"'\]}]*)")
_MESSAGES = (  # a part of ruamel's text · our message · whether to point at the start of the construct
    ("found character '\\t'", "a tab: indent with spaces", False),
    ("mapping values are not allowed", "': ' is not possible here: fix the indentation or quote the text", False),
    ("unexpected end of stream", "this quoted text is never closed", True),
    ("unexpected document separator", "this quoted text is never closed", True),
    ("expected ',' or ']'", "this list is not closed with ], or a comma is missing", True),
    ("expected ',' or '}'", "this mapping is not closed with }, or a comma is missing", True),
    ("could not find expected ':'", "this is not 'key: value': a colon and a space are missing", True),
    ("expected <block end>", "this line does not fit the lines above it: fix the indentation", False),
    ("unknown escape character", "a wrong \\ escape in double quotes: write \\\\, or use single quotes", False),
    ("expected escape sequence", "a wrong \\ escape in double quotes: write \\\\, or use single quotes", False),
)


def unquoted_text(source: Source, at: int) -> tuple[str, int] | None:
    """The advice to quote the text at this character, and where the text starts, if it begins with a sign."""
    line, start = source.line_of(at)
    for match in _UNQUOTED.finditer(line):
        if match.start("text") <= at - start <= match.end("text"):
            text = match["text"].split(", ")[0] if match["flow"] else match["text"]
            problem = f'a text that begins with {match["sign"]} must be quoted: write "{printable(text.rstrip())}"'
            return problem, start + match.start("text")
    return None


def describe_syntax_error(error: MarkedYAMLError, source: Source) -> tuple[str, int]:
    """The message for a syntax error, and the character to point at."""
    mark = error.problem_mark or error.context_mark
    at = int(mark.index) if mark is not None else 0
    if unquoted := unquoted_text(source, at):
        return unquoted
    problem = str(error.problem or error.context or "this is not YAML")
    for part, message, from_start in _MESSAGES:
        if part in problem:
            start = error.context_mark if from_start else None
            return message, int(start.index) if start is not None else at
    return printable(problem, 200), at
