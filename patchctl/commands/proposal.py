"""What a verb wants, before anybody knows whether the bytes allow it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from patchctl.errors import Problem
from patchctl.model import Hold, Receipt, Retirement
from patchctl.plan import Layer


class Step(NamedTuple):
    """One entry of the wanted stack.

    Attributes:
        layer: what to fold.
        receipt: to record once it landed.
        takes_out: ids whose receipts go when it lands (what it replaces).
        requires: ids without which it must not go in.
    """

    layer: Layer
    receipt: Receipt
    takes_out: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


class Proposal(NamedTuple):
    """What a verb wants, before anybody knows whether the bytes allow it.

    Attributes:
        steps: the stack, in fold order.
        leaving: ids whose receipts go.
        holds: the operator's decisions afterwards.
        retirements: to append.
        refused: what cannot be done, found before planning.
        strict: any refusal refuses the whole change (the entries were named); otherwise each entry stands alone.
        notes: sentences for the operator.
    """

    steps: tuple[Step, ...]
    leaving: tuple[str, ...] = ()
    holds: Mapping[str, Hold] = MappingProxyType({})
    retirements: tuple[Retirement, ...] = ()
    refused: tuple[Problem, ...] = ()
    strict: bool = True
    notes: tuple[str, ...] = ()
