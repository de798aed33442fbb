"""One statement, three databases: what is written once means the same in all of them."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, TypeAlias

import asyncpg
import pytest

from tickwise.stores.sql import mysql, postgres, sqlite
from tickwise.stores.sql.dialect import LOCKS, Dialect
from tickwise.stores.sql.statement import Compound, Delete, Returning, Statement, Update, compiled

Ask: TypeAlias = Callable[..., list[tuple[Any, ...]]]
MICRO = 1_000_000


@pytest.fixture(params=["sqlite", "postgres", "mysql"])
def ask(request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Rows of a statement, or of its text, with its values, from a real database."""
    yield from {"sqlite": _from_sqlite, "postgres": _from_postgres, "mysql": _from_mysql}[request.param](request)


def _statement(asked: Statement | str) -> Statement:
    return Statement(asked) if isinstance(asked, str) else asked


def _from_sqlite(_request: pytest.FixtureRequest) -> Iterator[Ask]:
    connection = sqlite3.connect(":memory:", isolation_level=None)

    def ask(asked: Statement | str, **values: Any) -> list[tuple[Any, ...]]:
        [made] = compiled(_statement(asked), sqlite.DIALECT)
        return connection.execute(made.text, sqlite.named_values(made.bind({"clock": None, **values}))).fetchall()

    yield ask
    connection.close()


def _from_postgres(request: pytest.FixtureRequest) -> Iterator[Ask]:
    with asyncio.Runner() as runner:
        connection = runner.run(_connect(request.getfixturevalue("postgres_url")))

        def ask(asked: Statement | str, **values: Any) -> list[tuple[Any, ...]]:
            [made] = compiled(_statement(asked), postgres.DIALECT)
            rows = runner.run(connection.fetch(made.text, *made.bind({"clock": None, **values})))
            return [tuple(row) for row in rows]

        yield ask
        runner.run(connection.close())


def _from_mysql(request: pytest.FixtureRequest) -> Iterator[Ask]:
    with asyncio.Runner() as runner:
        driver = mysql.MysqlDriver(request.getfixturevalue("mysql_database"))
        connection = runner.run(driver._connect(mysql._WRITES))

        def ask(asked: Statement | str, **values: Any) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in runner.run(driver._ask(connection, _statement(asked)(**values)))]

        yield ask
        runner.run(connection.ensure_closed())


async def _connect(url: str) -> Any:
    return await asyncpg.connect(url)


def test_a_value(ask: Ask) -> None:
    """A value stands where its name does, however often, and NULL is one."""
    assert ask(
        "SELECT CAST(:n AS {bigint}), CAST(:other AS {text}), CAST(:n AS {bigint}) + 1", n=1, other=None
    ) == [(1, None, 2)]


def test_what_a_value_says_is_never_read(ask: Ask) -> None:
    """Text that looks like a form or like SQL is just text."""
    given = ":n IN :n[bigint] {now} FOR UPDATE '; DROP TABLE x; -- $1 ?1"
    assert ask("SELECT CAST(:given AS {text})", given=given) == [(given,)]


@pytest.mark.parametrize(
    ("given", "found"), [([], []), ([2], [2]), ([3, 1, 3], [1, 3]), ([None], []), ([None, 2], [2])]
)
def test_a_list(ask: Ask, given: list[int | None], found: list[int]) -> None:
    """What is among the values is found; among none nothing is, and NULL equals nothing."""
    three = "SELECT n FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3) AS t WHERE n IN :ns[bigint] ORDER BY n"
    assert ask(three, ns=given) == [(n,) for n in found]


def test_a_list_of_texts(ask: Ask) -> None:
    """Quotes, brackets and braces are part of a text."""
    texts = ["it's", '"', "{a,b}", "[1]", "\\", "", "ü🕰"]
    found = [ask("SELECT CAST(:own AS {text}) IN :texts[text]", own=text, texts=texts) for text in [*texts, "b}"]]
    assert [bool(rows[0][0]) for rows in found] == [True] * len(texts) + [False]


ROWS = [
    (1, "a", True, 1.5, None),
    (-(1 << 63), "", False, 0.0, "x"),
    ((1 << 63) - 1, "NULL", None, None, '{"a": [1]}'),
]


def test_a_table(ask: Ask) -> None:
    """Rows come back as they were given, in their types, with their NULLs."""
    found = ask(
        "SELECT n, t, CASE WHEN b THEN 'yes' WHEN NOT b THEN 'no' END, f, o FROM "
        ":rows[place bigint, n bigint, t text, b boolean, f float8, o text] AS v ORDER BY place",
        rows=[(place, *row) for place, row in enumerate(ROWS)],
    )
    said = {True: "yes", False: "no", None: None}
    assert found == [(n, t, None if b is None else said[b], f, o) for n, t, b, f, o in ROWS]


def test_a_table_of_no_rows(ask: Ask) -> None:
    """It has its columns all the same."""
    assert ask("SELECT n, t FROM :rows[n bigint, t text] AS v", rows=[]) == []


def test_a_join_is_no_list(ask: Ask) -> None:
    """The word JOIN ends as the form of a list begins; what follows it is a table."""
    found = ask(
        "SELECT x.n, v.t FROM (SELECT 1 AS n UNION SELECT 2) AS x JOIN :rows[n bigint, t text] AS v ON v.n = x.n",
        rows=[(2, "b"), (3, "c")],
    )
    assert found == [(2, "b")]


def test_forms_side_by_side(ask: Ask) -> None:
    """Values, lists and tables of one statement each get their own, in any order."""
    found = ask(
        "SELECT v.a, v.b, CAST(:one AS {text}) FROM :rows[a bigint, b text] AS v "
        "WHERE v.a IN :wanted[bigint] AND v.b <> :one AND v.a IN :wanted[bigint] ORDER BY v.a",
        one="x", wanted=[1, 2, 3], rows=[(1, "x"), (2, "y"), (3, "z"), (4, "y")],
    )  # fmt: skip
    assert found == [(2, "y", "x"), (3, "z", "x")]


def test_now(ask: Ask) -> None:
    """The database's time in microseconds, unless a test gives its own."""
    assert ask("SELECT {now}", clock=5) == [(5,)]
    ((now,),) = ask("SELECT {now}")
    assert abs(now - int(datetime.now(UTC).timestamp() * MICRO)) < 600 * MICRO


def test_locks_are_for_those_who_have_them(ask: Ask) -> None:
    """Where one writes at a time, the words for locking rows are left out."""
    ask("CREATE TEMPORARY TABLE t (n bigint)")
    for lock in (f"{{{name}}}" for name in LOCKS):
        assert ask(f"SELECT n FROM t ORDER BY n LIMIT 1 {lock}") == []
        assert ask(f"SELECT n FROM t WHERE n IN (SELECT n FROM t {lock})") == []


def test_rows_whose_key_is_taken(ask: Ask) -> None:
    """They are left out, or replace what they name."""
    ask("CREATE TEMPORARY TABLE k (a bigint, b bigint, c text, d text, PRIMARY KEY (a, b))")
    insert = "INTO k SELECT a, b, c, d FROM :rows[a bigint, b bigint, c text, d text] AS v WHERE TRUE"
    ask(f"{{insert_free}} {insert} {{if_free}}", rows=[(1, 1, "x", "x"), (1, 2, "x", "x")])
    ask(f"{{insert_free}} {insert} {{if_free}}", rows=[(1, 1, "y", "y"), (2, 1, "y", "y")])
    ask(f"INSERT {insert} {{upsert a, b: c}}", rows=[(1, 2, "z", "z"), (3, 1, "z", "z")])
    found = ask("SELECT a, b, c, d FROM k ORDER BY a, b")
    assert found == [(1, 1, "x", "x"), (1, 2, "z", "x"), (2, 1, "y", "y"), (3, 1, "z", "z")]


def test_a_row_by_where_it_is(ask: Ask) -> None:
    """A locked row is found again by its row id, alone or with values of its own."""
    ask("CREATE TEMPORARY TABLE r (job_id bigint PRIMARY KEY, n bigint)")
    ask("INSERT INTO r SELECT n, n FROM :rows[n bigint] AS v", rows=[(1,), (2,), (3,)])
    places: dict[int, str] = dict(ask("SELECT n, CAST({row_id} AS {text}) FROM r"))
    ask("UPDATE r SET n = 10 WHERE {row_id} IN :places[row_id]", places=[places[1]])
    given = [(places[2], 20), (places[3], 30)]
    ask(Update("r", ":rows[place row_id, n bigint] AS v", {"{row_id}": "v.place"}, {"n": "v.n"}), rows=given)
    assert sorted(n for (n,) in ask("SELECT n FROM r")) == [10, 20, 30]


def test_rows_that_are_changed_by_values(ask: Ask) -> None:
    """Each by its own, computed from what it was; a condition leaves rows out, and values may find none."""
    ask("CREATE TEMPORARY TABLE u (a bigint, b bigint, n bigint, said text, PRIMARY KEY (a, b))")
    ask("INSERT INTO u SELECT a, b, 1, 'old' FROM :rows[a bigint, b bigint] AS v", rows=[(1, 1), (1, 2), (2, 1)])
    add = Update(
        "u", ":rows[a bigint, b bigint, n bigint] AS v", {"a": "v.a", "b": "v.b"},
        {"n": "t.n + v.n", "said": "'new'"}, "t.a < 2",
    )  # fmt: skip
    ask(add, rows=[(1, 1, 5), (2, 1, 5), (7, 7, 5)])
    assert ask("SELECT a, b, n, said FROM u ORDER BY a, b") == [
        (1, 1, 6, "new"),
        (1, 2, 1, "old"),
        (2, 1, 1, "old"),
    ]
    ask(Delete("u", ":rows[a bigint, b bigint] AS v", {"a": "v.a", "b": "v.b"}), rows=[(1, 2), (2, 1), (7, 7)])
    assert ask("SELECT a, b FROM u") == [(1, 1)]


def test_rows_that_an_insert_has_made() -> None:
    """MySQL tells the first id, and whose session it was; a row whose key is taken is not among them."""
    insert = Returning("{insert_free} INTO tickwise_runs … {if_free}", "id, slot", table="tickwise_runs")
    assert [made.text for made in compiled(insert, mysql.DIALECT)] == [
        "INSERT IGNORE INTO tickwise_runs … ",
        "SELECT id, slot FROM tickwise_runs WHERE id >= %(v1)s AND session = CONNECTION_ID()",
    ]
    for dialect in (sqlite.DIALECT, postgres.DIALECT):
        [made] = compiled(insert, dialect)
        assert made.text == "INSERT INTO tickwise_runs … ON CONFLICT DO NOTHING RETURNING id, slot"


every_dialect = pytest.mark.parametrize(
    "dialect", [sqlite.DIALECT, postgres.DIALECT, mysql.DIALECT], ids=lambda dialect: dialect.name
)


def test_hooks_are_few() -> None:
    """Another database is one table of hooks, and not a longer one with every feature."""
    assert len(fields(Dialect)) - 1 <= 12  # but its name


def test_several_in_one() -> None:
    """PostgreSQL takes a compound as one text, in which the others read what the first returns."""
    both = Compound(Statement("SELECT :a AS a"), Statement("SELECT a, :b FROM :made[a bigint] AS m"))
    [made] = compiled(both, postgres.DIALECT)
    assert made.text == (
        "WITH part_0 AS (SELECT $1 AS a), part_1 AS (SELECT a, $2 FROM part_0 AS m) SELECT * FROM part_0"
    )


@every_dialect
def test_a_statement_is_put_into_words_once(dialect: Dialect) -> None:
    """It is the same text each time, so that the database can know it again; only the values differ."""
    statement = Statement("SELECT :n, :n FROM :rows[a bigint, b text] AS v WHERE v.a IN :ids[bigint]")
    [made] = compiled(statement, dialect)
    few, many = ({"n": 1, "rows": [(1, "a")] * n, "ids": [1] * n} for n in (0, 1_000))
    assert len(made.bind(few)) == len(made.bind(many))
    assert compiled(statement, dialect)[0] is made


@every_dialect
def test_a_forgotten_value(dialect: Dialect) -> None:
    """It is missed by its name, and never taken for NULL."""
    with pytest.raises(KeyError, match="wanted"):
        compiled(Statement("SELECT :n, :wanted"), dialect)[0].bind({"n": 1})
