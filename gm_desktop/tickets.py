"""Claims on answers, so that a late answer never overwrites a newer one."""

from __future__ import annotations


class Ticket:
    """A claim on one answer. Used on the GUI thread only, but for `is_cancelled`."""

    __slots__ = ("is_cancelled", "is_settled")

    def __init__(self) -> None:
        self.is_cancelled = False
        self.is_settled = False

    def cancel(self) -> None:
        """The answer will not be delivered; a job that has not begun will not run."""
        self.is_cancelled = True


class Latest:
    """Keeps one ticket: taking a newer one cancels the one before."""

    __slots__ = ("_ticket",)

    def __init__(self) -> None:
        self._ticket: Ticket | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether an answer is still to come."""
        return self._ticket is not None and not self._ticket.is_settled

    def take(self, ticket: Ticket) -> Ticket:
        """Holds `ticket`, cancels the one before, and returns it."""
        self.cancel()
        self._ticket = ticket
        return ticket

    def cancel(self) -> None:
        """Drops the answer that is still awaited, if any."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
