"""Which addresses a request may reach. A name is resolved once; the address that was checked is connected to."""

import asyncio
import socket
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

from ...core.errors import InputError

Address: TypeAlias = IPv4Address | IPv6Address


class Reach(StrEnum):
    """The kind of an address."""

    PUBLIC = "public"
    PRIVATE = "private"
    LOOPBACK = "loopback"
    LINK_LOCAL = "link-local"
    METADATA = "cloud metadata"
    MULTICAST = "multicast"
    UNSPECIFIED = "unspecified"


_METADATA = frozenset(map(ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16")))
_THIS_NETWORK = IPv4Network("0.0.0.0/8")
_BROADCAST = IPv4Address("255.255.255.255")
_NAT64 = IPv6Network("64:ff9b::/96")


def reach_of(address: Address) -> Reach:
    """The kind of an address; an embedded IPv4 address decides."""
    address = _embedded(address)
    if address in _METADATA:
        return Reach.METADATA
    if address.is_unspecified or (isinstance(address, IPv4Address) and address in _THIS_NETWORK):
        return Reach.UNSPECIFIED
    if address.is_multicast or address == _BROADCAST:
        return Reach.MULTICAST
    if address.is_loopback:
        return Reach.LOOPBACK
    if address.is_link_local:
        return Reach.LINK_LOCAL
    return Reach.PUBLIC if address.is_global else Reach.PRIVATE


def _embedded(address: Address) -> Address:
    if isinstance(address, IPv6Address):
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """The kinds of address that requests may reach, by name and by redirect too."""

    allowed: frozenset[Reach] = frozenset({Reach.PUBLIC, Reach.PRIVATE})

    async def resolve(self, host: str, port: int) -> list[str]:
        """The addresses of a host that may be connected to, best first; InputError if there is none."""
        try:
            answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise InputError(f"the name {host} cannot be resolved: {error}") from None
        addresses = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
        usable = [text for text in addresses if reach_of(ip_address(text)) in self.allowed]
        if not usable:
            kinds = ", ".join(f"{text} ({reach_of(ip_address(text))})" for text in addresses)
            allowed = ", ".join(sorted(self.allowed)) or "none"
            raise InputError(
                f"{host} is {kinds}, and this worker's address policy allows {allowed} addresses only: "
                "name another host, or allow this kind where the worker is started"
            )
        return usable
