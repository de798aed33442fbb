"""Deadlines that will probably be missed, as things that need a person."""

import pytest

from tickwise.core.cron.zone import zone
from tickwise.core.deadline_attention import deadline_at_risk
from tickwise.core.deadline_forecast import CauseKind, DeadlineForecast, ForecastCause
from tickwise.core.reasons import Reason

LATE = ForecastCause(CauseKind.DEPENDENCY, "extract", 0.75)
LONG = ForecastCause(CauseKind.OWN_RUN, "settle", 0.25)


def forecast(probability: float | None, warn: float | None, *causes: ForecastCause) -> DeadlineForecast:
    return DeadlineForecast(
        "settle",
        "job",
        3_600,
        Reason.LATE_FINISH,
        7_200,
        "1h after its slot",
        zone("UTC"),
        warn,
        probability,
        causes,
    )


@pytest.mark.parametrize(
    ("probability", "warn", "is_shown"),
    [(None, 0.1, False), (0.1, 0.2, False), (0.2, 0.2, True), (0.4, None, False), (0.6, None, True)],
)
def test_it_is_shown_from_its_warning_on(probability: float | None, warn: float | None, is_shown: bool) -> None:
    """S65: or if it is more probable than not."""
    assert (deadline_at_risk(forecast(probability, warn)) is not None) is is_shown


def test_it_names_all_causes() -> None:
    """S65: the most frequent in the sentence, others in the detail."""
    item = deadline_at_risk(forecast(0.6, None, LATE, LONG))
    assert item is not None
    assert item.text == "will miss 1h after its slot with probability 0.6, because extract runs late"
    assert item.detail == (
        "the deadline of its slot Thu 01:00 UTC is Thu 02:00 UTC; other causes: its run takes long (25%)"
    )
