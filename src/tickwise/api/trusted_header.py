"""The identity that an authenticating proxy names in headers, on connections from its addresses only.

A header that is there twice is refused: the proxy has then not removed that of the client. A browser sends what
the proxy knows it by with every request (cookies), so the page that asks must be one of this origin.
"""

from fastapi import Request

from ..core.payload import clip
from ..role_grants import granted_role
from ..sign_on_settings import TrustedHeader
from .identity import Identity
from .problems import Refusal

_OWN_PAGES = ("same-origin", "none")  # none: typed into the address bar
_LONGEST_NAME = 80


def header_identity(request: Request, trusted: TrustedHeader | None) -> Identity | None:
    """The person that the proxy names; none if it names nobody, or the connection is not from the proxy."""
    peer = request.client.host if request.client else ""
    if trusted is None or not trusted.is_from(peer):
        return None
    user, groups = _header_text(request, trusted.user), _header_text(request, trusted.groups)
    if not user:
        return None
    if request.headers.get("sec-fetch-site", "none") not in _OWN_PAGES:
        raise Refusal(403, "a page of another origin asks: use the page of this one")
    granted = granted_role(trusted.roles, {group.strip() for group in groups.split(",")} - {""})
    name = person_name(user)
    if name != user:
        raise Refusal(401, f"{trusted.user} must be a name of up to {_LONGEST_NAME} characters that can be seen")
    if granted is None:
        raise no_role(name, "[trusted_header]")
    return Identity(f"{name} (proxy)", *granted)


def _header_text(request: Request, header: str) -> str:
    values = request.headers.getlist(header) if header else []
    if len(values) > 1:
        raise Refusal(401, f"there are two headers {header}: the proxy must remove that of the client")
    return "".join(values).encode("latin-1").decode("utf-8", "replace").strip()


def person_name(text: str) -> str:
    """A name as it stands in the audit: short, and of characters that can be seen."""
    return clip(" ".join("".join(filter(str.isprintable, text)).split()), _LONGEST_NAME) or "somebody"


def no_role(name: str, table: str) -> Refusal:
    """The refusal of a person who has signed in, and whose groups give no role."""
    return Refusal(
        403, f"{name} has signed in, and no group of theirs has a role here: ask an admin to add one to {table} "
        "in tickwise.toml"
    )  # fmt: skip
