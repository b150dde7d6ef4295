"""The signals of containment patches in logs: which lines are hits, and how many. Pure: bytes in, counts out.

``literal`` finds a text that every match has, ``scanning`` looks for it in blocks, ``envelopes`` and ``journal`` take
off what container runtimes and log daemons add, ``headers`` reads vLLM's own prefix, ``judging`` decides whether a line
is a signal, ``access`` counts requests, ``tally`` counts in constant memory, ``spikes`` tells which hours stand out,
``civil`` knows dates. Opening, decompressing and following logs is not here.
"""

from patchctl.signals.civil import date_of
from patchctl.signals.headers import HeaderForm
from patchctl.signals.literal import required_literal
from patchctl.signals.scanning import Scanner, Wanted
from patchctl.signals.tally import Tally
from patchctl.signals.values import Counted, EntryCount, Mismatch, Number, Spike, Stamp, Watch

__all__ = [
    "Counted",
    "EntryCount",
    "HeaderForm",
    "Mismatch",
    "Number",
    "Scanner",
    "Spike",
    "Stamp",
    "Tally",
    "Wanted",
    "Watch",
    "date_of",
    "required_literal",
]
