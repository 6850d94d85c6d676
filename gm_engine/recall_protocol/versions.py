"""The protocol versions this program speaks, and how both ends agree on one."""

from __future__ import annotations

from gm_engine.recall_protocol.errors import VersionMismatch

MIN_VERSION = 1
MAX_VERSION = 1


def negotiate_version(min_version: int, max_version: int) -> int:
    """The adapter's side: the highest version that lies in the asked range and in ours.

    Raises `VersionMismatch` when there is none; nothing is ever downgraded below what was asked.
    """
    chosen = min(max_version, MAX_VERSION)
    if chosen < max(min_version, MIN_VERSION):
        raise VersionMismatch(
            f"Protocol versions {min_version} to {max_version} were asked for; "
            f"this adapter speaks {MIN_VERSION} to {MAX_VERSION}.",
            asked=(min_version, max_version),
            spoken=(MIN_VERSION, MAX_VERSION),
        )
    return chosen


def check_negotiated(min_version: int, max_version: int, *, offered: int) -> None:
    """The core's side: raises `VersionMismatch` when the adapter's manifest names a version outside the asked range."""
    if not min_version <= offered <= max_version:
        raise VersionMismatch(
            f"Protocol versions {min_version} to {max_version} were asked for; the adapter answered with {offered}.",
            asked=(min_version, max_version),
            offered=offered,
        )
