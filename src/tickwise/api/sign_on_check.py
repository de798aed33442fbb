"""What the doctor finds of sign-on: whether people can sign in, and whom the settings trust too much."""

from ..app.doctor import Finding
from ..config import Settings
from ..core.attention import Severity
from ..core.errors import InputError
from ..sign_on_settings import sign_on_warnings
from .problems import Refusal
from .sign_on import SignOn


async def sign_on_findings(settings: Settings) -> list[Finding]:
    """As of now: the provider of the settings is asked for its document and keys."""
    show = "tickwise config show"
    found = [
        Finding("trusted_header", Severity.WARNING, caution, show)
        for caution in sign_on_warnings(settings.trusted_header)
    ]
    if settings.oidc is not None:
        try:
            await SignOn(settings.oidc).provider.check()
        except (Refusal, InputError) as error:
            found.append(Finding("sign_on", Severity.ERROR, str(error), show))
    return found
