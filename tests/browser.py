"""A headless Chromium, told what to do through pipes: what it made of a page, and what it asked for meanwhile.

The protocol: https://chromedevtools.github.io/devtools-protocol/. What is evaluated through it is no script of the
page, so the page's policy does not keep it from running.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
)
OWN = re.compile(rb"[ /.](?:google|googleapis|gstatic|gvt1)\.com")
"""Whom the browser calls by itself, whatever it shows."""

_DEADLINE = 90.0
_SETTLED = 0.4
"""Seconds after the load event in which a page that does something does it."""

_LOOK = """(() => {
  document.querySelectorAll('details').forEach(it => it.open = true);
  return JSON.stringify({
    text: document.body.innerText,
    title: document.title,
    evil: String(window.evil),
    name: window.name,
    cookie: document.cookie,
    address: location.href,
    ground: getComputedStyle(document.body).backgroundColor,
    elements: [...new Set([...document.querySelectorAll('*')].map(it => it.localName))],
    handlers: [...document.querySelectorAll('*')].flatMap(it => it.getAttributeNames())
      .filter(it => /^on|^style$/.test(it)),
    links: [...document.querySelectorAll('[href],[src],[action],[data]')].map(
      it => it.getAttribute('href') || it.getAttribute('src') || it.getAttribute('action') || it.getAttribute('data')),
  });
})()"""


class Visit(NamedTuple):
    """What became of a page.

    Attributes:
        seen: what its document looks like from within, see ``_LOOK``.
        asked: addresses that it asked for, its own left out.
        said: messages of its console, violations of its policy among them.
        dialogs: texts of ``alert`` and the like.
        frames: how many frames it opened.
    """

    seen: dict[str, Any]
    asked: tuple[str, ...]
    said: tuple[str, ...]
    dialogs: tuple[str, ...]
    frames: int


class Browser:
    """One browser, for several pages one after another; a context manager that ends it."""

    def __init__(self, profile: Path, port: int) -> None:
        """Start it with every request going to the proxy at ``port``."""
        ours, theirs = os.pipe(), os.pipe()
        options = [*QUIET, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        options += [f"--proxy-server=127.0.0.1:{port}", "--proxy-bypass-list=<-loopback>", "about:blank"]
        script = "import fcntl, os, sys; command = sys.argv[3:]\n"
        script += "high = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 20) for fd in sys.argv[1:3]]\n"
        script += "os.dup2(high[0], 3); os.dup2(high[1], 4); os.execvp(command[0], command)\n"
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", script, str(ours[0]), str(theirs[1]), str(CHROMIUM), *options],
            pass_fds=(ours[0], theirs[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._to, self._from = ours[1], theirs[0]
        self._left, self._number = b"", 0
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._send("Browser.close", {}, None)
        os.close(self._to)
        os.close(self._from)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def visit(self, page: Path) -> Visit:
        """Open a page from its file, wait until it has settled, and tell what became of it."""
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._call(f"{domain}.enable", {}, session)
        self._events.clear()
        self._call("Page.navigate", {"url": page.as_uri()}, session)
        self._until("Page.loadEventFired", session)
        self._read_for(_SETTLED, session)
        answer = self._call("Runtime.evaluate", {"expression": _LOOK, "returnByValue": True}, session)
        events = list(self._events)
        self._call("Target.closeTarget", {"targetId": target})
        return _told(json.loads(answer["result"]["value"]), events, page.as_uri())

    def _send(self, method: str, given: dict[str, Any], session: str | None) -> int:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        message |= {"sessionId": session} if session is not None else {}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        return self._number

    def _call(self, method: str, given: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        number, until = self._send(method, given, session), time.monotonic() + _DEADLINE
        while True:
            message = self._next(until)
            if message is None:
                raise AssertionError(f"the browser does not answer {method}")
            if message.get("id") == number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                found: dict[str, Any] = message["result"]
                return found
            self._note(message, session)

    def _until(self, method: str, session: str) -> None:
        until = time.monotonic() + _DEADLINE
        while not any(event["method"] == method for event in self._events):
            message = self._next(until)
            if message is None:
                raise AssertionError(f"the browser does not get as far as {method}")
            self._note(message, session)

    def _read_for(self, seconds: float, session: str) -> None:
        until = time.monotonic() + seconds
        while (message := self._next(until)) is not None:
            self._note(message, session)

    def _note(self, message: dict[str, Any], session: str | None) -> None:
        if "method" in message:
            self._events.append(message)
            if message["method"] == "Page.javascriptDialogOpening":
                self._send("Page.handleJavaScriptDialog", {"accept": False}, session)

    def _next(self, until: float) -> dict[str, Any] | None:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._from], [], [], max(until - time.monotonic(), 0))
            if not ready:
                return None
            chunk = os.read(self._from, 1 << 20)
            if not chunk:
                raise AssertionError("the browser ended")
            self._left += chunk
        data, _, self._left = self._left.partition(b"\0")
        found: dict[str, Any] = json.loads(data)
        return found


def _told(seen: dict[str, Any], events: list[dict[str, Any]], own: str) -> Visit:
    def of(method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in events if event["method"] == method]

    asked = [given["request"]["url"] for given in of("Network.requestWillBeSent")]
    said = [given["entry"]["text"] for given in of("Log.entryAdded")]
    said += [str(given["args"]) for given in of("Runtime.consoleAPICalled")]
    said += [str(given["exceptionDetails"]) for given in of("Runtime.exceptionThrown")]
    return Visit(
        seen=seen,
        asked=tuple(address for address in asked if address != own),
        said=tuple(said),
        dialogs=tuple(given["message"] for given in of("Page.javascriptDialogOpening")),
        frames=len(of("Page.frameAttached")),
    )


@contextlib.contextmanager
def remembering_proxy() -> Iterator[tuple[int, list[bytes]]]:
    """A proxy that answers nothing and remembers who came: every request that leaves a page goes to it."""
    came: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                came.append(connection.recv(200))
                connection.close()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], came
        server.shutdown(socket.SHUT_RDWR)
