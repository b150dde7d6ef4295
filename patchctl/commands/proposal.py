"""What a verb wants, before anybody knows whether the bytes allow it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from patchctl.errors import Problem
from patchctl.model import Hold, Receipt, Retirement, SetAside
from patchctl.plan import Layer
from patchctl.verdict import Base


class Step(NamedTuple):
    """One entry of the wanted stack: what to fold, and the receipt to record once it landed."""

    layer: Layer
    receipt: Receipt


class Proposal(NamedTuple):
    """What a verb wants, before anybody knows whether the bytes allow it.

    Attributes:
        steps: the stack, in fold order; every receipt that stays is in it.
        leaving: ids whose changes leave the files; their receipts go too, but for those of ``aside``.
        aside: of those that leave, the ones which are to come back or retire after an upgrade: their receipts stay.
        holds: the operator's decisions afterwards.
        retirements: to append.
        refused: what cannot be done, found before planning.
        strict: any refusal refuses the whole change (the entries were named); otherwise each entry stands alone.
        promises_check: when it exits 0, an immediate ``check`` shall: then every broken entry counts.
        asks_registry: it needs what the registry says of the entries it names: then a broken one of them counts.
        notes: sentences for the operator.
        bases: path -> what the plan rests on there instead of what was found (a base of the kind NEW).
        adopts: the entries that come in are in the files already: no file may change.
    """

    steps: tuple[Step, ...]
    leaving: tuple[str, ...] = ()
    holds: Mapping[str, Hold] = MappingProxyType({})
    retirements: tuple[Retirement, ...] = ()
    refused: tuple[Problem, ...] = ()
    strict: bool = True
    promises_check: bool = False
    asks_registry: bool = False
    notes: tuple[str, ...] = ()
    bases: Mapping[str, Base] = MappingProxyType({})
    adopts: bool = False
    aside: Mapping[str, SetAside] = MappingProxyType({})
