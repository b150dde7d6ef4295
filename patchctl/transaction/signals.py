"""Keeps SIGINT, SIGTERM and SIGHUP from cutting a transaction in two; its steps decide what follows from them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from patchctl.errors import InterruptedByError

_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """The first signal that came while they were held; None as long as none did."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number: int | None = None

    def note(self, number: int, _frame: FrameType | None) -> None:
        """Be the handler of a signal."""
        if self.number is None:
            self.number = number

    def raise_if_any(self, what: str) -> None:
        """Raise InterruptedByError when a signal came; ``what`` says what was made of the transaction."""
        if self.number is not None:
            name = signal.Signals(self.number).name
            raise InterruptedByError(f"{name}: {what}", terminated=self.number != signal.SIGINT)


@contextmanager
def held_signals() -> Iterator[Interruption]:
    """Hold the signals: they only leave a mark. The handlers that were there come back at the end.

    A signal that is ignored stays ignored (``nohup``). Only the main thread may set handlers; in another one signals
    go their usual way.
    """
    mark = Interruption()
    before = {}
    try:
        for number in _HELD:
            handler = signal.getsignal(number)
            if handler is signal.SIG_IGN:
                continue
            try:
                signal.signal(number, mark.note)
            except ValueError:
                continue
            before[number] = signal.SIG_DFL if handler is None else handler
        yield mark
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
