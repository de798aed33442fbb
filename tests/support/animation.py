"""Pictures that move: PNG files of one size become the frames of an animated one (APNG)."""

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_DATA = b"IDAT"


class Frame(NamedTuple):
    """A picture, and how long it is shown."""

    png: bytes
    seconds: float


def animate(frames: Sequence[Frame]) -> bytes:
    """One PNG that shows the frames again and again; what cannot animate shows the first."""
    header = dict(_chunks(frames[0].png))[b"IHDR"]
    assert all(dict(_chunks(one.png))[b"IHDR"] == header for one in frames), "frames differ in size or colours"
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in _animated(frames, header))


def _animated(frames: Sequence[Frame], header: bytes) -> Iterator[tuple[bytes, bytes]]:
    yield b"IHDR", header
    yield b"acTL", struct.pack(">II", len(frames), 0)
    number = 0
    for place, frame in enumerate(frames):
        size = header[:8]
        yield (
            b"fcTL",
            struct.pack(">I", number) + size + struct.pack(">IIHHBB", 0, 0, round(frame.seconds * 100), 100, 0, 0),
        )
        number += 1
        for data in (data for kind, data in _chunks(frame.png) if kind == _DATA):
            if place == 0:
                yield _DATA, data
            else:
                yield b"fdAT", struct.pack(">I", number) + data
                number += 1
    yield b"IEND", b""


def _chunks(png: bytes) -> Iterable[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
