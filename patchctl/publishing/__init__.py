"""Puts a page into a file that the operator named: as a whole, or between two markers of it. Never below a site.

``markers`` is about bytes alone, ``writing`` about files, ``bounds`` about places. What a page says is not here; see
``render``.
"""

from patchctl.publishing.bounds import Bounds
from patchctl.publishing.markers import BEGIN, END, between_markers
from patchctl.publishing.writing import put_between, put_whole

__all__ = ["BEGIN", "END", "Bounds", "between_markers", "put_between", "put_whole"]
