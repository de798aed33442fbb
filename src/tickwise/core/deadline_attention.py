"""Deadlines that will probably be missed, as something that needs a person: what a forecast says (S65)."""

from .attention import Attention, Cause, Remedy, Severity, Subject, short_time
from .cron.zone import Zone
from .deadline_forecast import DeadlineForecast

LIKELY = 0.5  # from when on a deadline is shown whose definition does not say when to warn


def deadline_at_risk(forecast: DeadlineForecast, zone: Zone | None = None) -> Attention | None:
    """If it is missed with the probability of its `warn`, or else more probably than not; times are in a zone."""
    probability = forecast.probability
    if probability is None or probability < (LIKELY if forecast.warn is None else forecast.warn):
        return None
    where = zone or forecast.zone
    others = ", ".join(f"{cause.text} ({cause.share:.0%})" for cause in forecast.causes[1:3])
    return Attention(
        kind=Cause.AT_RISK,
        severity=Severity.WARNING,
        subject=Subject("schedule", forecast.schedule, forecast.job),
        text=forecast.text,
        detail=f"the deadline of its slot {short_time(forecast.slot, where)} is {short_time(forecast.at, where)}"
        + (f"; other causes: {others}" if others else ""),
        counts={"percent": round(probability * 100)},
        remedies=(
            Remedy(do="why", label="Why?", schedule=forecast.schedule),
            Remedy(do="edit", label="Change deadline", schedule=forecast.schedule, field="deadline"),
        ),
    )
