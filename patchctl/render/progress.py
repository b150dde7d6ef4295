"""A progress bar for work that takes seconds, on a terminal only; it is drawn on standard error and leaves nothing."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bar:
    """A bar on ``stream``, drawn from the first call of :meth:`show` on; a context manager that takes it away."""

    __slots__ = ("_colour", "_counted", "_label", "_progress", "_stream", "_task")

    def __init__(self, stream: TextIO, label: str, *, colour: bool, counted: bool = False) -> None:
        self._stream, self._label, self._colour, self._counted = stream, label, colour, counted
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, done: int, total: int) -> None:
        """Draw ``done`` of ``total``: bytes, or things where these are counted."""
        if self._progress is None or self._task is None:
            self._progress, self._task = self._begin(total)
        self._progress.update(self._task, completed=done, total=total)

    def _begin(self, total: int) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn

        console = Console(file=self._stream, markup=False, emoji=False, no_color=None if self._colour else True)
        amount = MofNCompleteColumn() if self._counted else DownloadColumn()
        columns = TextColumn("{task.description}", markup=False), BarColumn(), amount
        progress = Progress(*columns, console=console, transient=True)
        progress.start()
        return progress, progress.add_task(self._label, total=total)
