"""What is around every web page: it opens offline, fetches nothing and runs nothing.

The page's own policy forbids everything but the one style sheet in it, which is named by its hash. The page is ASCII,
so that no encoding can change what it says.
"""

from __future__ import annotations

from collections.abc import Iterable

from patchctl.render.escape import markup


def framed(title: str, style: str, lines: Iterable[str]) -> str:
    """Return the page.

    Args:
        title: as text.
        style: the sheet, a constant of the code.
        lines: of the body, as HTML in which every text is escaped.
    """
    import base64
    import hashlib

    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = "".join(f"{line}\n" for line in lines)
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{markup(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
    return page.encode("ascii", "xmlcharrefreplace").decode("ascii")
