"""patchctl keeps installed Python packages patched until upstream makes the patch unnecessary.

The rooms of the house, and who may import whom, are described in ``docs/architecture.md`` and held by
``tests/test_layers.py``.
"""

__version__ = "0.1.0"
