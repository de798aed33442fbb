"""Class names have one meaning, helpers say what they do, modules are nouns, imports lead one way, paths exist."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tickwise"
MAX_MODULES = 3  # in so many modules a private helper may have the same name
NOUNS_IN_ING = {"routing", "testing", "upcoming"}  # the field's own words, or no gerunds
CLOCKS = {
    ("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today"), ("time", "time"),
    ("time", "time_ns"), ("time", "monotonic"), ("time", "perf_counter"), ("time", "clock_gettime"),
}  # fmt: skip
GLOSSARY = frozenset(
    """
    job schedule slot run attempt step cursor lane decision verdict reason pass catchup overlap backfill grace
    pause lease token ticker worker reaper pruner node queue settle journal claim plan commit
    query statement transaction connection cache batch notification wakeup callback middleware context result
    signal retry heartbeat coalesce reconcile validate schema
    """.split()
)


def _modules(root: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(root.rglob("*.py")):
        yield str(path.relative_to(root)), ast.parse(path.read_text(encoding="utf-8"))


def _named_in_ing(name: str) -> bool:
    return any(word.endswith("ing") and word not in NOUNS_IN_ING for word in name.removesuffix(".py").split("_"))


def _is_glossary_word(helper: str) -> bool:
    word = helper.strip("_")
    return word in GLOSSARY or word.removesuffix("s") in GLOSSARY


def test_a_class_name_has_one_meaning() -> None:
    """No two modules define public classes of the same name; `testing` may repeat a name for its double."""
    homes = defaultdict(set)
    for module, tree in _modules(PACKAGE):
        if not module.startswith("testing"):
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].add(module)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_a_helper_says_what_it_does() -> None:
    """A private function's name stands in at most three modules, unless it is a word of the glossary."""
    homes = defaultdict(set)
    for module, tree in _modules(PACKAGE):
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("_"):
                homes[node.name].add(module)
    common = {name for name, where in homes.items() if len(where) > MAX_MODULES and not name.endswith("__")}
    unclear = {name for name in common if not _is_glossary_word(name)}
    assert {name: sorted(homes[name]) for name in unclear} == {}


def test_a_module_is_named_by_a_noun() -> None:
    """No module and no folder of the package is named by a gerund."""
    parts = {part for path in PACKAGE.rglob("*.py") for part in path.relative_to(PACKAGE).parts}
    assert {part for part in parts if _named_in_ing(part)} == set()


def test_no_two_modules_need_each_other() -> None:
    """Imports lead one way, those for typing and those inside of functions included."""
    needed = {_dotted(path): _imports(path, tree) for path, tree in _modules(PACKAGE)}
    order = TopologicalSorter(
        {name: imported & needed.keys() - {PACKAGE.name} for name, imported in needed.items()}
    )
    try:
        order.prepare()
    except CycleError as error:
        raise AssertionError(" is imported by ".join(error.args[1])) from None


def test_one_module_reads_the_clock() -> None:
    """All others ask `clock`, so tests can set the time of each."""
    readers = set()
    for module, tree in _modules(PACKAGE):
        asked = {(node.value.id, node.attr) for node in ast.walk(tree)
                 if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}  # fmt: skip
        taken = {(node.module, alias.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
                 for alias in node.names}  # fmt: skip
        if (asked | taken) & CLOCKS:
            readers.add(module)
    assert readers == {"clock.py"}


def _dotted(path: str) -> str:
    return ".".join((PACKAGE.name, *Path(path).with_suffix("").parts)).removesuffix(".__init__")


def _imports(path: str, tree: ast.Module) -> set[str]:
    """What a module imports, wherever in it: modules, and the names that it takes of them."""
    package = _dotted(str(Path(path).parent / "__init__.py"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found - {_dotted(path)}


def test_contributing_names_files_that_exist() -> None:
    """Every path in CONTRIBUTING.md exists, from the root or inside the package."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = {token for token in re.findall(r"`([\w./*-]+)`", text) if "/" in token or Path(token).suffix}
    assert paths
    assert {path for path in paths if not (_exists(ROOT, path) or _exists(PACKAGE, path))} == set()


def _exists(folder: Path, pattern: str) -> bool:
    return next(iter(folder.glob(pattern.rstrip("/"))), None) is not None
