"""The API as the work of a story sees it: a gate that counts who passes, and what was reported.

It answers the four requests of `tickwise exec` as a node does, and one more, by which work waits for its story.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ...core.codec import encode_job
from ...core.definition import EngineUse, JobDefinition
from ...runtime.engines.contract import Order
from .http_server import Answer, HttpServer, Request
from .workplace import Work, Workplace

TICKET = "t'i\"c$(TICKWISE_API)$HOME`k`\\;&#"  # nothing on the way may read anything into it
JOB = "reports.daily_" + "x" * 80  # as long as a name may be, and with all that it may hold
_LEASE = 3  # seconds; work renews it several times, and so hears soon that it was cancelled
_LONGEST = 60.0  # seconds that anybody waits here


class Gate(Workplace):
    """Work that is executed by `tickwise exec` or `execute_attempt`, and asks over HTTP.

    `host`: the address of this machine that the work can reach.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self._changed = threading.Condition()
        self._work: dict[str, Work] = {}
        self._claims: dict[str, str] = {}
        self._begins: Counter[str] = Counter()
        self._released: set[str] = set()
        self._cancelled: set[str] = set()
        one = r"/api/v1/attempts/([\d.]+)"
        routes = {
            f"{one}/begin": self._begin,
            f"{one}/alive": self._alive,
            f"{one}/report": self._report,
            f"{one}/finish": self._finish,
            r"/wait/([\d.]+)": self._wait,
        }
        self._server = HttpServer({("POST", path): route for path, route in routes.items()}, host)

    # For the stories.

    def order(self, reference: str, work: Work, *, fingerprint: str, options: Mapping[str, Any]) -> Order:
        self._work[reference] = work
        environment = {
            "TICKWISE_API": self._server.address,
            "TICKWISE_ATTEMPT": reference,
            "TICKWISE_TICKET": TICKET,
        }
        return Order(reference, fingerprint, JOB, environment, options)

    def begins(self, reference: str) -> int:
        return self._begins[reference]

    async def until_begun(self, reference: str) -> None:
        await asyncio.to_thread(self._wait_for, lambda: self._begins[reference] > 0)

    def release(self, reference: str) -> None:
        with self._changed:
            self._released.add(reference)
            self._changed.notify_all()

    def cancel(self, reference: str) -> None:
        self._cancelled.add(reference)

    async def close(self) -> None:
        for reference in self._work:
            self.release(reference)
        await asyncio.to_thread(self._server.close)

    def _wait_for(self, is_so: Callable[[], bool]) -> None:
        with self._changed:
            self._changed.wait_for(is_so, _LONGEST)

    # For the work.

    def _begin(self, request: Request, reference: str) -> Answer:
        if reference not in self._work or request.secret != TICKET:
            return _refuse(404, f"no attempt {reference} has this ticket")
        claim = request.body["claim"]
        with self._changed:
            if reference not in self._claims and reference not in self._cancelled:
                self._claims[reference] = claim
                self._begins[reference] += 1
                self._changed.notify_all()
        if self._claims.get(reference) != claim:
            return _refuse(409, f"{reference} has begun already, or was cancelled: leave it")
        return Answer(self._what_to_do(reference))

    def _what_to_do(self, reference: str) -> dict[str, Any]:
        run, _, attempt = reference.partition(".")
        params = {"work": str(self._work[reference]), "gate": f"{self._server.address}/wait/{reference}"}
        job = JobDefinition(JOB, engine=EngineUse("conformance", target="tickwise.testing.engines.work:perform"))
        facts = {
            "id": run, "job": JOB, "schedule": None, "slot": None, "previous_slot": None, "trigger": "manual",
            "trigger_label": "manual", "attempt": int(attempt), "failures": 0, "params": params,
        }  # fmt: skip
        return {"run": facts, "definition": encode_job(job), "done": [], "lease": _LEASE}

    def _alive(self, request: Request, reference: str) -> Answer:
        return self._checked(request, reference, {"cancel": reference in self._cancelled})

    def _report(self, request: Request, reference: str) -> Answer:
        return self._checked(request, reference, None)

    def _finish(self, request: Request, reference: str) -> Answer:
        return self._checked(request, reference, {"state": "succeeded", "accepted": True})

    def _checked(self, request: Request, reference: str, answer: Any) -> Answer:
        if request.secret != self._claims.get(reference):
            return _refuse(404, f"no attempt {reference} has this claim")
        return Answer(answer, 200 if answer else 204)

    def _wait(self, _: Request, reference: str) -> Answer:
        self._wait_for(lambda: reference in self._released)
        return Answer(None, 204)


def _refuse(status: int, detail: str) -> Answer:
    return Answer({"status": status, "detail": detail}, status, "application/problem+json")
