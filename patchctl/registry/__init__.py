"""The registry on the disk: which entries there are, in which order, and their diffs.

``folder`` reads files below a registry folder, ``load`` turns folders into entries, ``relations`` checks what entries
say of each other, ``marks`` tells whether anything changed, ``use`` is what the other rooms get. What an entry means
for an environment is not here.
"""

from patchctl.registry.folder import bundled_registry
from patchctl.registry.load import load_registry
from patchctl.registry.marks import mark_registry
from patchctl.registry.relations import replaced_ids
from patchctl.registry.use import Registry, RegistryRoot

__all__ = ["Registry", "RegistryRoot", "bundled_registry", "load_registry", "mark_registry", "replaced_ids"]
