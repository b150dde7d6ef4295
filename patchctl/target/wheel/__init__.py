"""Wheels, read as an installer would place them, without extracting anything.

``archive`` opens one and reads single files of it; ``tree`` shows it as the environment that installing it would make.
"""

from patchctl.target.wheel.archive import WheelFile, opened_wheel, read_wheel_files
from patchctl.target.wheel.tree import WheelTree, wheel_tree

__all__ = ["WheelFile", "WheelTree", "opened_wheel", "read_wheel_files", "wheel_tree"]
