"""Which addresses a request may reach. A name is resolved once; the address that was checked is connected to."""

import asyncio
import socket
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
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
    RESERVED = "reserved"


def _reach_table(*rows: tuple[Reach, str]) -> tuple[tuple[IPv4Network | IPv6Network, Reach], ...]:
    return tuple((ip_network(text), reach) for reach, networks in rows for text in networks.split())


# The first network that holds an address decides; an address in none of them is reserved. From the IANA registries
# of special-purpose addresses.
_IPV4 = _reach_table(
    (Reach.METADATA, "169.254.169.254/32 169.254.170.2/32 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32"),
    (Reach.UNSPECIFIED, "0.0.0.0/8"),
    (Reach.LOOPBACK, "127.0.0.0/8"),
    (Reach.LINK_LOCAL, "169.254.0.0/16"),
    (Reach.PRIVATE, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10"),
    (Reach.MULTICAST, "224.0.0.0/4 255.255.255.255/32"),
    (Reach.RESERVED, "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24"),
    (Reach.RESERVED, "240.0.0.0/4"),
    (Reach.PUBLIC, "0.0.0.0/0"),
)
_IPV6 = _reach_table(
    (Reach.METADATA, "fd00:ec2::/32 fd20:ce::/32"),
    (Reach.UNSPECIFIED, "::/128"),
    (Reach.LOOPBACK, "::1/128"),
    (Reach.LINK_LOCAL, "fe80::/10"),
    (Reach.PRIVATE, "fc00::/7"),
    (Reach.MULTICAST, "ff00::/8"),
    (Reach.RESERVED, "2001::/23 2001:db8::/32 2002::/16 3fff::/20"),
    (Reach.PUBLIC, "2000::/3"),
)
_EMBEDDED = (  # networks whose addresses hold an IPv4 address, and how many bits stand behind it
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (IPv6Network("::ffff:0:0:0/96"), 0),  # translated
    (IPv6Network("::/96"), 0),  # compatible
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
)


def reach_of(address: Address) -> Reach:
    """The kind of an address; an embedded IPv4 address decides."""
    address = _embedded(address)
    table = _IPV4 if isinstance(address, IPv4Address) else _IPV6
    return next((reach for network, reach in table if address in network), Reach.RESERVED)


def _embedded(address: Address) -> Address:
    if isinstance(address, IPv6Address) and int(address) > 1:  # ::1 and :: embed nothing
        for network, behind in _EMBEDDED:
            if address in network:
                return IPv4Address(int(address) >> behind & 0xFFFF_FFFF)
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
