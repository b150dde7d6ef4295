"""The wanted stack of entries -> ordered edits and the file facts to record, or refusals. Pure: nothing is written."""

from patchctl.plan.build import Layer, Plan, Refusal, build_plan

__all__ = ["Layer", "Plan", "Refusal", "build_plan"]
