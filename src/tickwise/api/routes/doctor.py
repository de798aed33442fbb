"""`/doctor`: what is not as it should be, and how to mend it."""

from typing import Annotated

from fastapi import Query

from ...app.audit import audit as audited
from ...app.doctor import Severity, doctor
from ...core.audit import Finding
from ...stores.records import AccessRole
from ..bodies.base import Answered
from ..doors import Doors
from ..visit import Visiting

doors = Doors("doctor")
AUDIT = "Also match every slot in the store with its run or its reason; this reads all of it."


class FindingBody(Answered):
    code: str
    severity: Severity
    what: str
    repair: str


class AuditBody(Answered):
    """How much was matched: each slot with a run or a reason."""

    schedules: int
    slots: int
    runs: int
    reasons: int


class DoctorBody(Answered):
    findings: list[FindingBody]
    audit: AuditBody | None = None


@doors.get("/doctor", AccessRole.OPERATOR, whole=True, response_model=DoctorBody)
async def examine(visit: Visiting, *, audit: Annotated[bool, Query(description=AUDIT)] = False) -> DoctorBody:
    """Everything that can be told from the store and the clock of this machine."""
    findings = [FindingBody.model_validate(one) for one in await doctor(visit.tickwise)]
    if not audit:
        return DoctorBody(findings=findings)
    checked = await audited(visit.store)
    wrong = [_told(finding) for finding in checked.findings]
    return DoctorBody(findings=[*findings, *wrong], audit=AuditBody.model_validate(checked))


def _told(finding: Finding) -> FindingBody:
    what = f"{finding.schedule}: {finding.text}"
    return FindingBody(code=finding.kind, severity=Severity.ERROR, what=what, repair=finding.repair)
