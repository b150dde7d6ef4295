"""The wanted stack of entries -> ordered edits and the file facts to record, or refusals. Pure: nothing is written."""

from patchctl.plan.build import Plan, build_plan
from patchctl.plan.rules import Layer, Refusal

__all__ = ["Layer", "Plan", "Refusal", "build_plan"]
