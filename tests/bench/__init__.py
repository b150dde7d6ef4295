"""The benchmark: ``python -m tests.bench``. It prints tables and asserts no time: a time is no fact about the code.

``measuring`` takes times and memory, ``trees`` makes what is worked on, ``worker`` is what a measured process of our
own runs, and ``small``, ``release``, ``registry`` and ``large`` are the tables.
"""
