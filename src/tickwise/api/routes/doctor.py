"""`/doctor`: what is not as it should be, and how to mend it."""

from ...app.doctor import Severity, doctor
from ...stores.records import AccessRole
from ..bodies.base import Answered
from ..doors import Doors
from ..visit import Visiting

doors = Doors("doctor")


class FindingBody(Answered):
    code: str
    severity: Severity
    what: str
    repair: str


class DoctorBody(Answered):
    findings: list[FindingBody]


@doors.get("/doctor", AccessRole.OPERATOR, whole=True, response_model=DoctorBody)
async def examine(visit: Visiting) -> DoctorBody:
    """Everything that can be told from the store and the clock of this machine."""
    return DoctorBody(findings=[FindingBody.model_validate(one) for one in await doctor(visit.tickwise)])
