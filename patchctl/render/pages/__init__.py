"""The pages of ``report``: each a text made from what the command gathered. Where it goes is not their business."""

from __future__ import annotations

from collections.abc import Callable

from patchctl.commands.describe import Described

SHAPES = ("md", "html", "cyclonedx", "openvex")
"""The formats, as ``--format`` names them."""


def page_of(found: Described, shape: str) -> str | None:
    """Return the page in one of :data:`SHAPES`, each line ended; None: in this format there is nothing to state.

    Raises:
        PatchctlError: the library that the format needs is not installed.
    """
    return _maker(shape)(found)


def _maker(shape: str) -> Callable[[Described], str | None]:
    if shape == "md":
        from patchctl.render.pages.readme import readme_banner

        return readme_banner
    if shape == "html":
        from patchctl.render.pages.html import html_page

        return html_page
    if shape == "cyclonedx":
        from patchctl.render.pages.cyclonedx import cyclonedx_document

        return cyclonedx_document
    from patchctl.render.pages.openvex import openvex_document

    return openvex_document
