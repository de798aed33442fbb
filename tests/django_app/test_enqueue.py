"""Runs that are enqueued in Django's own transaction, on each database that is a store."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import connections, transaction

from tickwise.django import DjangoTickwise
from tickwise.testing import FakeClock


def test_a_run_exists_if_and_only_if_the_transaction_commits(scheduler: DjangoTickwise, alias: str) -> None:
    """Transactional enqueue: it is committed with the rows of the transaction, and rolled back with them."""
    scheduler.job(name="ship")(lambda order: f"shipped {order}")
    scheduler.store()
    with transaction.atomic(using=alias):
        connections[alias].cursor().execute("CREATE TABLE orders (number integer)")
    with transaction.atomic(using=alias):
        connections[alias].cursor().execute("INSERT INTO orders VALUES (7)")
        run = scheduler.enqueue("ship", {"order": 7}, key="order-7")
        again = scheduler.enqueue("ship", {"order": 7}, key="order-7")
        assert (run.state, run.params, again.id) == ("queued", {"order": 7}, run.id)
        assert again.state == "queued"
        if alias != "sqlite":
            assert scheduler.runs.list() == []
    with transaction.atomic(using=alias):
        scheduler.enqueue("ship", {"order": 8})
        transaction.set_rollback(True, using=alias)
    scheduler.drain()
    (found,) = scheduler.runs.list()
    assert (found.id, found.state, found.result) == (run.id, "succeeded", "shipped 7")
    with connections[alias].cursor() as cursor:
        cursor.execute("DROP TABLE orders")


def test_outside_a_transaction_a_run_is_enqueued_at_once(scheduler: DjangoTickwise, alias: str) -> None:
    """In Django's autocommit mode nothing has to be committed."""
    scheduler.job(name="ship")(lambda: None)
    connections[alias].ensure_connection()
    run = scheduler.enqueue("ship")
    assert scheduler.runs.get(run.id).state == "queued"


def test_a_store_elsewhere_does_not_join_the_transaction(settings_of_tickwise: Any, tmp_path: Path) -> None:
    """Only a store in the database of the transaction can be a part of it."""
    settings_of_tickwise({"store": f"sqlite:///{tmp_path / 'elsewhere.db'}"})
    with DjangoTickwise() as tw:
        tw.job(name="ship")(lambda: None)
        with transaction.atomic():
            connections["default"].cursor().execute("SELECT 1")
            run = tw.enqueue("ship")
            assert tw.runs.get(run.id).state == "queued"


def test_a_store_of_a_test_does_not_join_the_transaction() -> None:
    """`tw.testing` works inside a transaction, as in Django's TestCase."""
    with DjangoTickwise() as tw:
        tw.job(name="ship")(lambda: "done")
        with transaction.atomic():
            connections["default"].cursor().execute("SELECT 1")
            with tw.testing(FakeClock(datetime(2026, 1, 1, tzinfo=UTC))) as session:
                run = tw.enqueue("ship")
                assert [one.id for one in session.play(until="1h")] == [run.id]


def test_connections_of_a_job_are_closed_as_after_a_request(scheduler: DjangoTickwise, alias: str) -> None:
    """A job's thread keeps no connection longer than CONN_MAX_AGE says, by default none."""
    used = []

    def look() -> None:
        connections[alias].cursor().execute("SELECT 1")
        used.append(connections[alias])

    scheduler.job(name="look")(look)
    scheduler.enqueue("look")
    scheduler.drain()
    (connection,) = used
    assert connection.connection is None


def test_a_store_that_is_up_to_date_opens_inside_a_transaction(scheduler: DjangoTickwise, alias: str) -> None:
    """A SQLite file may be locked by the caller's own transaction, so nothing is written that is there already."""
    scheduler.job(name="ship")(ship)
    scheduler.store()
    with DjangoTickwise() as another, transaction.atomic(using=alias):
        another.job(name="ship")(ship)
        connections[alias].cursor().execute("CREATE TABLE parcels (number integer)")
        run = another.enqueue("ship")
        connections[alias].cursor().execute("DROP TABLE parcels")
    assert scheduler.runs.get(run.id).state == "queued"


def ship() -> None: ...
