"""Pages of reference name all commands, findings and notifications; how-to pages are found; tables are whole."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from tickwise.cli.main import app
from tickwise.runtime.notifications.notice import Occasion

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_ENDS_OF_TABLES = re.compile(r"^\|.*\|\n\n\|(?! *-)(?!.*\|\n\| ?-)", re.MULTILINE)


def _commands() -> Iterator[str]:
    """Each command, with its group if it is in one."""
    group = get_command(app)
    context = typer.Context(group)
    for name in group.list_commands(context):  # type: ignore[attr-defined]  # (it is a group)
        command = group.get_command(context, name)  # type: ignore[attr-defined]
        yield from (f"{name} {inner}" for inner in getattr(command, "commands", {}) or [""])


@pytest.mark.parametrize("command", [each.strip() for each in _commands()])
def test_the_page_of_commands_has_every_command(command: str) -> None:
    """In a line with its group, if it has one."""
    lines = (DOCS / "cli.md").read_text("utf-8").splitlines()
    words = [re.compile(rf"\b{re.escape(word)}\b") for word in command.split()]
    assert any(all(word.search(line) for word in words) for line in lines), command


def test_the_page_of_operations_has_every_finding_and_occasion() -> None:
    """Codes of the doctor, and of what notifications tell."""
    page = (DOCS / "operations.md").read_text("utf-8")
    codes = {
        node.args[0].value
        for file in (ROOT / "src" / "tickwise").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding"
        if node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value != ""
    }
    assert len(codes) > 20
    assert [code for code in sorted({*map(str, codes), *Occasion}) if f"`{code}`" not in page] == []


@pytest.mark.parametrize("page", sorted((DOCS / "howto").glob("*.md")), ids=lambda page: page.stem)
def test_a_how_to_page_can_be_found_from_another(page: Path) -> None:
    """A reader who has one problem comes by the page of its subject."""
    others = [other for other in DOCS.rglob("*.md") if other != page and other.parent.name != "adr"]
    assert any(f"{page.name}" in other.read_text("utf-8") for other in others)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_no_table_is_cut_in_two(page: Path) -> None:
    """A blank line ends a table: rows after it without a head are shown as text."""
    assert _ENDS_OF_TABLES.findall(page.read_text("utf-8")) == []
