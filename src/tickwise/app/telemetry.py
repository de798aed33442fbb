"""Telemetry as the settings of a process want it."""

from ..config import Settings
from ..core.errors import InputError
from ..runtime.telemetry import Telemetry


def make_telemetry(settings: Settings) -> Telemetry | None:
    """OpenTelemetry if the setting `otel` says so; nothing of it is loaded otherwise."""
    if not settings.otel:
        return None
    try:
        from ..runtime.otel import OpenTelemetry, set_up  # noqa: PLC0415  (only for those who want it)

        set_up()
    except ImportError as error:
        raise InputError(f"otel is set, and {error.name} is not installed: pip install 'tickwise[otel]'") from None
    return OpenTelemetry()
