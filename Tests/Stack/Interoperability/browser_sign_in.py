"""Signs in with `chappie login` at `chappie serve`, with a person's part played in Chromium.

Usage: browser_sign_in.py CHAPPIE FOLDER

CHAPPIE is the executable; a picture of each sign-in's last page goes to FOLDER. Chromium is driven by the protocol of
its developer tools, over a pipe.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

TIME_LIMIT = 60
NAMES = ["chromium", "chromium-browser", "google-chrome"]
# What every token, code and verifier of the test server contains.
MARKER = "chappie-test-secret"
CLIENT = "browser-test"


def fail(message: str) -> None:
    sys.exit(f"browser-sign-in: {message}")


class Browser:
    """One window of Chromium, with a profile of its own."""

    def __init__(self, profile: str) -> None:
        executable = next((path for name in NAMES if (path := shutil.which(name))), None)
        if executable is None:
            fail("there is no Chromium: Scripts/install.sh browser")
        theirs_in, self.to_browser = os.pipe()
        self.from_browser, theirs_out = os.pipe()
        # It reads from descriptor 3 and writes to 4.
        command = [executable, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--remote-debugging-pipe", "--window-size=900,600", f"--user-data-dir={profile}"]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", *command],
            pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.received = b""
        self.events: list[dict] = []
        self.count = 0
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")

    def ask(self, method: str, **parameters: object) -> dict:
        """Sends a command and returns its result. Events that arrive meanwhile are kept."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.count:
            self.events.append(answer)
        if "error" in answer:
            fail(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def receive(self) -> dict:
        end = time.monotonic() + TIME_LIMIT
        while b"\0" not in self.received:
            if not select.select([self.from_browser], [], [], max(0, end - time.monotonic()))[0]:
                fail(f"Chromium said nothing for {TIME_LIMIT} s")
            piece = os.read(self.from_browser, 1 << 20)
            if not piece:
                fail("Chromium has ended")
            self.received += piece
        message, self.received = self.received.split(b"\0", 1)
        return json.loads(message)

    def wait_for_page(self) -> None:
        """Waits until the last requested page is loaded."""
        while True:
            while self.events:
                if self.events.pop(0).get("method") == "Page.loadEventFired":
                    return
            self.events.append(self.receive())

    def open(self, url: str) -> None:
        self.events.clear()
        if "errorText" in (answer := self.ask("Page.navigate", url=url)):
            fail(f"the page cannot be opened: {answer['errorText']}")
        self.wait_for_page()

    def evaluate(self, expression: str) -> object:
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def press(self, decision: str) -> None:
        """Presses a button, and waits for the page behind it."""
        self.events.clear()
        script = f"(b => b ? (b.click(), true) : false)(document.querySelector('button[value={decision}]'))"
        if self.evaluate(script) is not True:
            fail(f"the page has no button '{decision}': {self.text()!r}")
        self.wait_for_page()

    def text(self) -> str:
        return str(self.evaluate("document.body.innerText"))

    def picture(self, path: pathlib.Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.process.terminate()
        self.process.wait(TIME_LIMIT)


@contextlib.contextmanager
def server(chappie: str, work: pathlib.Path) -> Iterator[str]:
    """A test server with an approval page; its address without a path."""
    with (work / "serve.log").open("wb") as log:
        process = subprocess.Popen(
            [chappie, "serve", "--pending", "page", "--guard", "--log"], stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            line = process.stdout.readline().strip()
            if not line.startswith("listening on http://") or not line.endswith("/v1"):
                fail(f"chappie serve printed {line!r}")
            yield line.removeprefix("listening on ").removesuffix("/v1")
        finally:
            process.terminate()
            process.wait(TIME_LIMIT)


def sign_in(chappie: str, work: pathlib.Path, origin: str, browser: Browser, case: tuple[str, str],
            folder: pathlib.Path) -> None:
    """One sign-in, from the command to its end."""
    way, decision = case
    home = work / f"{way}-{decision}"
    environment = {**os.environ, "CHAPPIE_HOME": str(home), "CHAPPIE_CLIENT_ID": CLIENT}
    options = ["--browser", "--no-open"] if way == "browser" else []
    login = subprocess.Popen(
        [chappie, "login", "--json", "--issuer", origin, *options], env=environment, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        first = login.stdout.readline()
        asked = json.loads(first or "{}")
        if way == "browser":
            browser.open(asked["authorizationURL"])
        else:
            browser.open(asked["verificationURL"])
            browser.evaluate(f"document.querySelector('[name=user_code]').value = {json.dumps(asked['userCode'])}")
        browser.press(decision)
        last_page = browser.text()
        browser.picture(folder / f"{way}-{decision}.png")
        rest, complaint = login.communicate(timeout=TIME_LIMIT)
    finally:
        login.kill()
        login.wait()
    if MARKER in first + rest + complaint:
        fail(f"{way}, {decision}: chappie login printed a secret")
    if (login.returncode == 0) != (decision == "agree"):
        fail(f"{way}, {decision}: chappie login ended with {login.returncode}: {complaint}")
    whoami = subprocess.run([chappie, "whoami", "--json"], env=environment, capture_output=True, text=True,
                            timeout=TIME_LIMIT)
    if ("person@example.com" in whoami.stdout) != (decision == "agree"):
        fail(f"{way}, {decision}: chappie whoami printed {whoami.stdout!r} and {whoami.stderr!r}")
    if MARKER in whoami.stdout + whoami.stderr:
        fail(f"{way}, {decision}: chappie whoami printed a secret")
    print(f"{way}, {decision}: status {login.returncode}, last page: {' '.join(last_page.split())!r}")


def main(chappie: str, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # Chromium's processes may write into its profile a moment longer than it runs.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        work = pathlib.Path(scratch)
        with server(chappie, work) as origin, contextlib.closing(Browser(str(work / "profile"))) as browser:
            for case in [(way, decision) for way in ("browser", "device") for decision in ("agree", "deny")]:
                sign_in(chappie, work, origin, browser, case, folder)
        if MARKER in (work / "serve.log").read_text(encoding="utf-8"):
            fail("chappie serve logged a secret")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
