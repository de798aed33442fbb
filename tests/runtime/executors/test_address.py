"""Which addresses a request may go to."""

from ipaddress import ip_address

import pytest

from tickwise.core.errors import InputError
from tickwise.runtime.executors.address import AddressPolicy, Reach, reach_of

from ...support.executors import run


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        ("93.184.215.14", Reach.PUBLIC),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", Reach.PUBLIC),
        ("10.1.2.3", Reach.PRIVATE),
        ("172.16.0.1", Reach.PRIVATE),
        ("192.168.1.1", Reach.PRIVATE),
        ("100.64.0.1", Reach.PRIVATE),
        ("fd12::1", Reach.PRIVATE),
        ("127.0.0.1", Reach.LOOPBACK),
        ("127.9.9.9", Reach.LOOPBACK),
        ("::1", Reach.LOOPBACK),
        ("169.254.1.1", Reach.LINK_LOCAL),
        ("fe80::1", Reach.LINK_LOCAL),
        ("169.254.169.254", Reach.METADATA),
        ("fd00:ec2::254", Reach.METADATA),
        ("224.0.0.1", Reach.MULTICAST),
        ("255.255.255.255", Reach.MULTICAST),
        ("ff02::1", Reach.MULTICAST),
        ("0.0.0.0", Reach.UNSPECIFIED),  # noqa: S104 (nothing is bound to it)
        ("0.1.2.3", Reach.UNSPECIFIED),
        ("::", Reach.UNSPECIFIED),
        ("::ffff:127.0.0.1", Reach.LOOPBACK),
        ("::ffff:169.254.169.254", Reach.METADATA),
        ("64:ff9b::a9fe:a9fe", Reach.METADATA),
        ("2002:7f00:1::", Reach.LOOPBACK),
        ("fd20:ce::254", Reach.METADATA),
        ("fd00:ec2::23", Reach.METADATA),
        ("192.0.0.192", Reach.METADATA),
        ("169.254.170.2", Reach.METADATA),
        ("::a9fe:a9fe", Reach.METADATA),
        ("::ffff:0:a9fe:a9fe", Reach.METADATA),
        ("::7f00:1", Reach.LOOPBACK),
        ("::10.0.0.1", Reach.PRIVATE),
        ("64:ff9b:1::a9fe:a9fe", Reach.RESERVED),
        ("64:ff9b::5db8:d70e", Reach.PUBLIC),
        ("::ffff:93.184.215.14", Reach.PUBLIC),
        ("192.0.0.8", Reach.RESERVED),
        ("192.0.2.1", Reach.RESERVED),
        ("198.18.0.1", Reach.RESERVED),
        ("203.0.113.9", Reach.RESERVED),
        ("240.0.0.1", Reach.RESERVED),
        ("100::1", Reach.RESERVED),
        ("2001::1", Reach.RESERVED),
        ("2001:db8::1", Reach.RESERVED),
        ("fec0::1", Reach.RESERVED),
        ("4000::1", Reach.RESERVED),
    ],
)
def test_every_address_is_of_one_kind(address: str, reach: Reach) -> None:
    """B14: an address is told by what it reaches, also when it is wrapped into another; the rest is reserved."""
    assert reach_of(ip_address(address)) is reach


@pytest.mark.parametrize("host", ["169.254.169.254", "127.0.0.1", "0.0.0.0", "2130706433", "0x7f.1", "fe80::1"])  # noqa: S104 (nothing is bound to it)
def test_the_default_refuses_what_is_near(host: str) -> None:
    """By default neither this machine nor what is link-local can be reached, however it is written."""
    with pytest.raises(InputError, match="address policy allows private, public addresses only"):
        run(AddressPolicy().resolve(host, 80))


def test_what_is_allowed_comes_back_as_numbers() -> None:
    """An allowed host is resolved to the numbers to connect to, and others of its numbers are left out."""
    assert run(AddressPolicy().resolve("10.0.0.1", 80)) == ["10.0.0.1"]
    assert "127.0.0.1" in run(AddressPolicy(frozenset({Reach.LOOPBACK})).resolve("localhost", 80))


def test_a_name_that_does_not_exist_is_told() -> None:
    """A name that cannot be resolved is an error that names it."""
    with pytest.raises(InputError, match=r"the name no-such-host\.invalid cannot be resolved"):
        run(AddressPolicy().resolve("no-such-host.invalid", 80))
