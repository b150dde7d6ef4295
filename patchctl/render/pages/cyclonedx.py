"""A CycloneDX 1.6 document: the distributions as components, what is in them beyond their release as their pedigree.

The library makes the document; it is an extra of its own, ``sbom``. Nothing is random: the serial number comes from
the content and the time, so that SOURCE_DATE_EPOCH makes the document reproducible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from patchctl import __version__
from patchctl.commands.describe import Described, Standing
from patchctl.errors import PatchctlError
from patchctl.model import Fix, FixRole
from patchctl.patch import Kind
from patchctl.render.escape import printable_json, visible
from patchctl.render.pages.purl import purl_of
from patchctl.render.words import one_line
from patchctl.verdict import Assessment, SourceDiff

if TYPE_CHECKING:
    from cyclonedx.model import AttachedText
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, Patch
    from cyclonedx.model.issue import IssueType

_NAMESPACE = "https://cyclonedx.org/"
_CVE_PAGE = "https://www.cve.org/CVERecord?id="


def cyclonedx_document(found: Described) -> str:
    """Return the document as JSON.

    Raises:
        PatchctlError: the library is not installed.
    """
    try:
        from cyclonedx.output.json import JsonV1Dot6
    except ImportError as error:
        raise PatchctlError(
            "missing-library",
            f"--format cyclonedx needs cyclonedx-python-lib, which cannot be imported: {error}",
            hint="install patchctl with its extra: patchctl[sbom]",
        ) from None
    from uuid import NAMESPACE_URL, uuid5

    bom = _bom(found)
    bom.serial_number = uuid5(NAMESPACE_URL, _NAMESPACE)
    content = JsonV1Dot6(bom).output_as_string()
    bom.serial_number = uuid5(NAMESPACE_URL, _NAMESPACE + content)
    return printable_json(JsonV1Dot6(bom).output_as_string(indent=2)) + "\n"


def _bom(found: Described) -> Bom:
    from datetime import datetime, timezone

    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.tool import ToolRepository

    tool = Component(name="patchctl", version=__version__, type=ComponentType.APPLICATION, bom_ref="patchctl")
    bom = Bom(
        metadata=BomMetaData(
            tools=ToolRepository(components=[tool]), timestamp=datetime.fromtimestamp(found.clock.now, tz=timezone.utc)
        )
    )
    carried = found.of_standing(Standing.IN)
    for name, build in found.builds.items():
        bom.components.add(_component(found, name, build, carried))
    return bom


def _component(found: Described, name: str, build: str, carried: tuple[Assessment, ...]) -> Component:
    from cyclonedx.model import Property
    from cyclonedx.model.component import Component, ComponentType, Pedigree
    from packageurl import PackageURL

    component = Component(
        name=visible(name),
        version=visible(build),
        type=ComponentType.LIBRARY,
        bom_ref=purl_of(name, build),
        purl=PackageURL(type="pypi", name=visible(name), version=visible(build)),
    )
    fingerprint = found.target.distributions[name].fingerprint
    if fingerprint is not None:
        component.properties.add(Property(name="patchctl:fingerprint", value=fingerprint))
    patches = [_patch(entry, diff) for entry in carried for diff in _diffs(entry) if diff.distribution == name]
    if patches:
        notes = f"{len(patches)} local {'patch' if len(patches) == 1 else 'patches'} applied to the installed files"
        component.pedigree = Pedigree(patches=patches, notes=notes)
    return component


def _diffs(entry: Assessment) -> tuple[SourceDiff, ...]:
    return entry.case.recorded or entry.case.due


def _patch(entry: Assessment, diff: SourceDiff) -> Patch:
    from cyclonedx.model.component import Diff, Patch, PatchClassification

    kind = entry.case.patch.kind.value if entry.case.patch is not None else None
    if kind is None and entry.case.receipt is not None:
        kind = entry.case.receipt.kind
    backport = kind == Kind.BACKPORT.value
    return Patch(
        type=PatchClassification.BACKPORT if backport else PatchClassification.UNOFFICIAL,
        diff=Diff(text=_text(diff.data)),
        resolves=list(_issues(entry)),
    )


def _text(data: bytes) -> AttachedText:
    """Return a diff as it is where it is text, and encoded where no JSON string has those bytes."""
    from base64 import b64encode

    from cyclonedx.model import AttachedText, Encoding

    try:
        return AttachedText(content=data.decode("utf-8"), content_type="text/x-diff")
    except UnicodeDecodeError:
        encoded = b64encode(data).decode("ascii")
        return AttachedText(content=encoded, content_type="text/x-diff", encoding=Encoding.BASE_64)


def _issues(entry: Assessment) -> Iterator[IssueType]:
    from cyclonedx.model import XsUri
    from cyclonedx.model.issue import IssueClassification, IssueType, IssueTypeSource

    patch, known = entry.case.patch, entry.case.patch or entry.case.receipt
    yield IssueType(
        type=IssueClassification.DEFECT,
        id=entry.id,
        name=visible(known.title) if known is not None else None,
        description=visible(one_line(patch.why)) if patch is not None else None,
    )
    if patch is None:
        return
    for cve in patch.cve:
        address = XsUri(_CVE_PAGE + cve)
        source = IssueTypeSource(name="CVE", url=address)
        yield IssueType(type=IssueClassification.SECURITY, id=cve, source=source)
    for fix in patch.fixes:
        if fix.role is FixRole.FIXES:
            yield _upstream(fix)


def _upstream(fix: Fix) -> IssueType:
    from cyclonedx.model import XsUri
    from cyclonedx.model.issue import IssueClassification, IssueType

    references = [XsUri(fix.source)] if fix.source is not None else []
    description = visible(one_line(fix.note)) if fix.note else None
    return IssueType(
        type=IssueClassification.DEFECT, id=visible(fix.ref), description=description, references=references
    )
