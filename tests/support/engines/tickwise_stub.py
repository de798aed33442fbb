"""Stands for `tickwise exec` where many must start quickly: asks the gate of the story, and obeys."""

import json
import os
import signal
import socket
import sys

ATTEMPT = os.environ["TICKWISE_ATTEMPT"]
LINES = "one\ntwo: ä, \U0001f600\nthree\n"


def ask(path: str, secret: str = "", body: object = None) -> tuple[int, str]:
    host, _, port = os.environ["TICKWISE_API"].removeprefix("http://").partition(":")
    content = b"" if body is None else json.dumps(body).encode()
    head = f"POST {path} HTTP/1.0\r\nAuthorization: Bearer {secret}\r\nContent-Length: {len(content)}\r\n\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + content)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    top, _, text = answer.partition(b"\r\n\r\n")
    return int(top.split()[1]), text.decode()


def main() -> int:
    if sys.argv[1:] != ["exec"]:
        return 64
    claim = os.urandom(32).hex()
    status, text = ask(f"/api/v1/attempts/{ATTEMPT}/begin", os.environ["TICKWISE_TICKET"], {"claim": claim})
    if status != 200:
        return 0
    work = json.loads(text)["run"]["params"]["work"]
    if work == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if work in {"waits", "stubborn"}:
        ask(f"/wait/{ATTEMPT}")
    elif work == "prints":
        sys.stdout.buffer.write(LINES.encode())
    sys.stdout.flush()
    outcome = "failed" if work == "fails" else "succeeded"
    ask(f"/api/v1/attempts/{ATTEMPT}/finish", claim, {"outcome": outcome})
    return 3 if work == "fails" else 0


sys.exit(main())
