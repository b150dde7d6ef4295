"""The only code that parses TOML, JSON and YAML: bytes in, plain values out, with caps that hold before a parser runs.

Whose bytes they are does not matter: size and depth are the caller's, time and memory are bounded by the size, and
whatever is wrong is one exception, :class:`DocumentError`. Not here: what a document means, where it lies, and what
its readers call it. The YAML library is an extra, so that ``yaml`` is imported by those who need it.
"""

from patchctl.documents.json import DEPTH, Member, members_of, read_json
from patchctl.documents.values import DocumentError, Flaw, clipped

__all__ = ["DEPTH", "DocumentError", "Flaw", "Member", "clipped", "members_of", "read_json"]
