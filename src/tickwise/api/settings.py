"""What the settings mean for the API's door."""

from pathlib import Path

from ..config import Settings
from ..stores.contract import Store
from ..stores.records import AccessRole
from .access import Access, check_binding, warnings
from .secret import FILE, admin_token, state_folder

NOBODY = "none"


def access_of(settings: Settings) -> Access:
    role = None if settings.loopback_role == NOBODY else AccessRole(settings.loopback_role)
    return Access(settings.hosts, settings.trusted_proxies, role)


async def let_in(store: Store, settings: Settings) -> tuple[Path, list[str]]:
    """Prepare the door: the file of the admin's token, and what a person should know. Refused if it were open."""
    known = [token for token in await store.access.tokens() if token.revoked_at is None]
    check_binding(settings.host, has_token=bool(known))
    folder = state_folder(settings.store)
    await admin_token(store, folder)
    return folder / FILE, list(warnings(settings.host, access_of(settings), tls=bool(settings.certificate)))
