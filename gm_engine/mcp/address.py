"""Where the HTTP server listens, and whom it answers: the checks that need no server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address

from gm_engine.errors import InvalidInput

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_HIGHEST_PORT = 65_535
_ADDRESS = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:/\[\]@]*)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port; port 0 takes any that is free."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def answers_to(self, host: str) -> bool:
        """Whether a request with this Host is meant for us: no name that somebody else's DNS could point here.

        A loopback server answers to loopback names and its own address, any other one to its own name and to bare
        addresses.
        """
        name = _name_of(host)
        if name is None:
            return False
        if name in _LOOPBACK_NAMES or name == self.host.lower():
            return True
        return not self.is_loopback and _is_bare_address(name)

    def allows_origin(self, origin: str) -> bool:
        """Whether a web page from there may call: only our own."""
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and self.answers_to(host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`HOST:PORT`, with an empty host for 127.0.0.1 and IPv6 in brackets; `InvalidInput` for anything else."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > _HIGHEST_PORT:
        raise InvalidInput(f"{text[:100]!r} is no HOST:PORT.", field="address")
    return Address(match["v6"] or match["host"] or "127.0.0.1", int(match["port"]))


def _name_of(host: str) -> str | None:
    """The host of a Host header in lower case, without its port; None for what is none."""
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?", host)
    return None if match is None else (match[1] or match[2]).lower()


def _is_bare_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
