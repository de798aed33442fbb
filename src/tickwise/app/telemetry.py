"""Telemetry as the settings of a process want it."""

from ..config import Settings
from ..extras import packages_of
from ..runtime.telemetry import Telemetry


def make_telemetry(settings: Settings) -> Telemetry | None:
    """OpenTelemetry if the setting `otel` says so; nothing of it is loaded otherwise."""
    if not settings.otel:
        return None
    with packages_of("otel", "the setting otel"):
        from ..runtime.otel import OpenTelemetry, set_up  # noqa: PLC0415  (only for those who want it)

        set_up()
    return OpenTelemetry()
