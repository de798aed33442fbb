"""`/doctor`: what is wrong, and how to repair it."""

from typing import Annotated

from fastapi import Query

from ...app.doctor import doctor
from ...app.records import AccessRole
from ...core.attention import Severity
from ...core.audit import AuditFinding
from ..context import Context
from ..routing import Router
from ..schemas.common import ResponseModel
from ..sign_on_check import sign_on_findings

router = Router("doctor")
AUDIT = "Also match every slot in the store with its run or its reason; this reads all of it."


class FindingResponse(ResponseModel):
    code: str
    severity: Severity
    what: str
    repair: str


class LedgerAuditResponse(ResponseModel):
    """How much was matched: each slot with a run or a reason."""

    schedules: int
    slots: int
    runs: int
    reasons: int


class DoctorResponse(ResponseModel):
    findings: list[FindingResponse]
    audit: LedgerAuditResponse | None = None


@router.get("/doctor", AccessRole.OPERATOR, whole=True, response_model=DoctorResponse)
async def examine(context: Context, *, audit: Annotated[bool, Query(description=AUDIT)] = False) -> DoctorResponse:
    """What can be found from the store and the clock of this machine."""
    found = [*await doctor(context.tickwise), *await sign_on_findings(context.tickwise.settings)]
    findings = [FindingResponse.model_validate(one) for one in found]
    if not audit:
        return DoctorResponse(findings=findings)
    checked = await context.operations.audit()
    wrong = [_audit_finding(finding) for finding in checked.findings]
    return DoctorResponse(findings=[*findings, *wrong], audit=LedgerAuditResponse.model_validate(checked))


def _audit_finding(finding: AuditFinding) -> FindingResponse:
    what = f"{finding.schedule}: {finding.text}"
    return FindingResponse(code=finding.kind, severity=Severity.ERROR, what=what, repair=finding.repair)
