"""A :class:`Report` in one of its shapes. The sole owner of output: JSON keys, table layout, colour, escaping.

``document`` is the JSON document, ``plain`` one record a line for pipes, ``terminal`` what a person reads, ``escape``
the one escaper for everything untrusted that is shown. Each is imported by itself: only a terminal needs Rich, and
start-up is a feature.
"""
