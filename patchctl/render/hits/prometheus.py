"""``hits`` as Prometheus text, for the textfile collector of node_exporter.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/. A counter falls when old logs are gone, which
Prometheus takes for a restart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from patchctl.commands.hits import Incidence
from patchctl.render.escape import visible


def hits_prometheus(found: Incidence) -> str:
    """Return the metrics, each line ended by a line feed."""
    return "".join(line + "\n" for line in _lines(found))


def _lines(found: Incidence) -> Iterator[str]:
    counted = found.counted
    yield from _head("patchctl_signal_lines_total", "counter", "Log lines that are the signal of a containment patch.")
    for entry in counted.entries:
        for kind, instance, lines in entry.cells or (("-", "-", 0),):
            labels = {"entry": entry.id, "kind": kind, "instance": instance}
            yield _sample("patchctl_signal_lines_total", labels, lines)
    yield from _head("patchctl_hits", "gauge", "How often a containment patch worked, ranks counted once.")
    for entry in counted.entries:
        yield _sample("patchctl_hits", {"entry": entry.id}, entry.hits)
    yield from _head("patchctl_passed_over_lines_total", "counter", "Lines with the text of a signal that are none.")
    for entry in counted.entries:
        for reason, lines in entry.passed_over:
            yield _sample("patchctl_passed_over_lines_total", {"entry": entry.id, "reason": reason}, lines)
    yield from _requests(found)
    if counted.clock == "utc":
        # As written, a time is no moment.
        yield from _head("patchctl_last_hit_timestamp_seconds", "gauge", "When the last line of a signal was written.")
        for entry in counted.entries:
            if entry.last is not None:
                yield _sample("patchctl_last_hit_timestamp_seconds", {"entry": entry.id}, entry.last.second)


def _requests(found: Incidence) -> Iterator[str]:
    yield from _head("patchctl_requests_total", "counter", "Requests to the model, from access lines or as given.")
    if found.given_requests is not None:
        yield _sample("patchctl_requests_total", {"instance": "-"}, found.given_requests)
    for instance, count in found.counted.requests:
        yield _sample("patchctl_requests_total", {"instance": instance}, count)


def _head(name: str, kind: str, help_: str) -> Iterator[str]:
    yield f"# HELP {name} {help_}"
    yield f"# TYPE {name} {kind}"


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    inner = ",".join(f'{key}="{_label(text)}"' for key, text in labels.items())
    return f"{name}{{{inner}}} {int(value) if value == int(value) else repr(value)}"


def _label(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')
