"""One use case a file: a plain function with explicit arguments that returns a :class:`Report`.

No printing, no exit codes, no global settings. ``scene`` gathers and judges, ``change`` carries a change out; the verbs
only say what they want.
"""

from patchctl.commands.place import Allowed, Clock, Consent, Place
from patchctl.commands.report import Change, Listing, Report

__all__ = ["Allowed", "Change", "Clock", "Consent", "Listing", "Place", "Report"]
