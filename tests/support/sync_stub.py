"""Writes `sync_methods.pyi` for type checkers: the asynchronous classes without their `async`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import tickwise.app

APP = Path(tickwise.app.__file__).parent
STUB = APP / "sync_methods.pyi"
_SOURCES = ("calendar_manager", "events", "managers", "blackouts", "play_session", "shadow", "sources", "tickwise")
_MADE = {
    "Schedules": "SyncSchedules", "Runs": "SyncRuns", "Jobs": "SyncJobs", "Events": "SyncEvents",
    "Sources": "SyncSources", "Blackouts": "SyncBlackouts", "Calendars": "SyncCalendars",
    "PlaySession": "SyncPlaySession",
    "Shadows": "SyncShadows",
    "AsyncTickwise": "Face",
}  # fmt: skip
_HEAD = '"""Made from the asynchronous classes by `python -m tests.support.sync_stub`: do not edit."""'


def text() -> str:
    """What is to be in the file."""
    trees = {name: ast.parse((APP / f"{name}.py").read_text("utf-8")) for name in _SOURCES}
    kinds = {node.name: node for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)}
    classes = [_class(kinds[kind], name) for kind, name in _MADE.items()]
    used = {node.id for each in classes for node in ast.walk(each) if isinstance(node, ast.Name)}
    homes = {"LoopThread": ".loop_thread"}
    for name, tree in trees.items():
        homes |= dict(_homes(tree, f".{name}"))
    imports = sorted(f"from {homes[name]} import {name}" for name in used & homes.keys())
    return "\n".join([_HEAD, "", *imports, "", *(f"{ast.unparse(each)}\n" for each in classes)])


def _homes(tree: ast.Module | ast.If, module: str) -> Iterator[tuple[str, str]]:
    """Names that a module knows, and where each is to be had."""
    for node in tree.body:
        match node:
            case ast.ImportFrom():
                for name in node.names:
                    yield name.name, "." * node.level + (node.module or "")
            case ast.If():  # TYPE_CHECKING
                yield from _homes(node, module)
            case ast.ClassDef():
                yield node.name, module
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield name, module


def _class(kind: ast.ClassDef, name: str) -> ast.ClassDef:
    made = ast.parse(
        f"class {name}:\n"
        f"    {ast.get_docstring(kind)!r}\n"
        f"    _awaited: {kind.name}\n"
        "    _loop_thread: LoopThread\n"
        f"    def __init__(self, awaited: {kind.name}, loop_thread: LoopThread) -> None: ...\n"
    ).body[0]
    assert isinstance(made, ast.ClassDef)
    methods = [node for node in kind.body if isinstance(node, ast.AsyncFunctionDef)]
    overloaded = {node.name for node in methods if _decorators(node) == ["overload"]}
    for node in methods:
        decorators = _decorators(node)
        is_shown = not decorators and node.name not in overloaded
        if not node.name.startswith("_") and (is_shown or decorators == ["overload"]):
            made.body.append(_method(node))
    return made


def _decorators(node: ast.AsyncFunctionDef) -> list[str]:
    return [ast.unparse(each) for each in node.decorator_list]


def _method(node: ast.AsyncFunctionDef) -> ast.FunctionDef:
    """Without its code; defaults that are no plain values are left to it."""
    for values in (node.args.defaults, node.args.kw_defaults):
        for place, value in enumerate(values):
            if value is not None and not isinstance(value, ast.Constant):
                values[place] = ast.Constant(...)
    said = ast.get_docstring(node)
    body = ast.parse(f"{said!r}\n..." if said else "...").body
    made = ast.FunctionDef(node.name, node.args, body, node.decorator_list, node.returns)
    return ast.fix_missing_locations(made)


if __name__ == "__main__":
    STUB.write_text(text(), "utf-8")
