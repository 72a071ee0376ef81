"""A browser in which a page is used as somebody does it: by the mouse, by keys, with files that it saves."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.report.reported import browser

_PATIENCE = 60.0
_CODES = {"ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40, "ArrowUp": 38}


class UsedPage:
    """A page in a browser, by the Chrome DevTools Protocol; `downloads` is the folder of the files that it saves."""

    def __init__(self, commands: int, answers: int, downloads: Path) -> None:
        self._commands, self._answers = commands, answers
        self._numbers, self._session, self._rest = itertools.count(1), "", b""
        self.downloads = downloads
        self._ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def open(self, page: Path) -> None:
        """Load a page, and wait for its scripts."""
        self._ask("Page.navigate", url=page.as_uri())
        self._wait(f"document.readyState === 'complete' && location.href === {json.dumps(page.as_uri())}")

    def reload(self) -> None:
        """Load the page once more, as somebody does who has come back."""
        # What a page remembers reaches the browser's own process a moment later.
        time.sleep(1)
        self.ask("window.before = true")
        self._ask("Page.reload")
        self._wait("document.readyState === 'complete' && !window.before")

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def click(self, selector: str) -> None:
        """Click on the middle of what a selector finds first, as far as it is there to be clicked on."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.ask(f"{element}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.ask(f"{element}.getBoundingClientRect().toJSON()")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        assert self.ask(f"{element}.contains(document.elementFromPoint({x}, {y}))"), f"{selector} lies below something"
        for kind in ("mousePressed", "mouseReleased"):
            self._ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press and release a key, for whatever has the focus."""
        code = _CODES.get(key) or ord(key.upper())
        typed = {} if key in _CODES else {"text": key}
        self._ask("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **typed)
        self._ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def saved(self, name: str) -> Path:
        """The file of a name that the page has saved."""
        self._wait_for((self.downloads / name).is_file, f"{name} was not saved")
        return self.downloads / name

    def _wait(self, expression: str) -> None:
        self._wait_for(lambda: self.ask(expression) is True, expression)

    def _wait_for(self, done: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _PATIENCE
        while not done():
            assert time.monotonic() < end, what
            time.sleep(0.02)

    def _ask(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._rest:
                piece = os.read(self._answers, 1 << 16)
                assert piece, "the browser has ended"
                self._rest += piece
            said, _, self._rest = self._rest.partition(b"\0")
            answer = json.loads(said)
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer)
                return answer["result"]


@contextmanager
def used_page(folder: Path) -> Iterator[UsedPage]:
    """A page in a browser without a screen, with a profile below a folder."""
    downloads = folder / "downloads"
    downloads.mkdir()
    from_us, commands = os.pipe()
    answers, to_us = os.pipe()
    options = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--remote-debugging-pipe"),
        *("--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder / 'profile'}"),
    )
    # The browser reads commands from file 3, and answers in file 4.
    started = subprocess.Popen(
        ["bash", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "bash", browser(), *options],
        pass_fds=(from_us, to_us),
        stderr=subprocess.DEVNULL,
    )
    os.close(from_us)
    os.close(to_us)
    try:
        yield UsedPage(commands, answers, downloads)
    finally:
        # It ends where its commands do.
        os.close(commands)
        os.close(answers)
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
