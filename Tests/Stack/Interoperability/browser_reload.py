"""Reloads the page of Examples/ReloadableChat in mid-answer, and kills its relay, in Chromium.

Usage: browser_reload.py CHAPPIE FOLDER

CHAPPIE is the executable; pictures of the page go to FOLDER.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

from browser_sign_in import TIME_LIMIT, Browser

PAGE = pathlib.Path(__file__).resolve().parents[3] / "Examples/ReloadableChat"
TEXT = "".join(f"{number}: <b>air</b> scatters blue light & red less. Größe: 🌤️. " for number in range(60)).strip()
ANSWERS = "[...document.querySelectorAll('.answer')].map(e => e.textContent)"
RUNNING = "document.querySelectorAll('.running').length"
# The message that was sent, and whose stream the page does not know.
PENDING = "sessionStorage.getItem('pending')"


def fail(message: str) -> None:
    sys.exit(f"browser-reload: {message}")


class Pages(http.server.SimpleHTTPRequestHandler):
    """The example's files."""

    def log_message(self, *_: object) -> None:
        pass


class Program:
    """A server of the command line, and its address."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline().strip()
        if not line.startswith("listening on http://"):
            fail(f"{command[1]} printed {line!r}")
        self.url = line.removeprefix("listening on ")
        self.port = self.url.removesuffix("/v1").rsplit(":", 1)[1]

    def stop(self) -> None:
        """Stops the process until `go_on`: its sockets accept bytes, and nothing reads them."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(TIME_LIMIT)


def wait_for(browser: Browser, expression: str, what: str) -> object:
    end = time.monotonic() + TIME_LIMIT
    while not (value := browser.evaluate(expression)):
        if time.monotonic() > end:
            fail(f"{what} did not come; the page has {browser.text()[:300]!r}")
        time.sleep(0.05)
    return value


def send(browser: Browser, message: str) -> None:
    wait_for(browser, f"{RUNNING} === 0", "the end of the answer before")
    browser.evaluate(f"document.querySelector('input').value = {json.dumps(message)}")
    browser.evaluate("document.querySelector('form').requestSubmit()")


def check(browser: Browser, count: int, what: str) -> None:
    wait_for(browser, f"{ANSWERS}.length === {count} && {RUNNING} === 0", f"the end of {what}")
    answers = browser.evaluate(ANSWERS)
    if answers != [TEXT] * count:
        fail(f"{what}: the page has {[len(answer) for answer in answers]} characters, the answers have {len(TEXT)}")
    if failures := browser.evaluate("[...document.querySelectorAll('.failed')].map(e => e.textContent)"):
        fail(f"{what}: the page says {failures}")
    print(f"{what}: the page has {count} whole answers")


def main(chappie: str, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        work = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        (work / "text").write_text(TEXT, encoding="utf-8")
        pages = stack.enter_context(
            http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, directory=PAGE)))
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        stack.callback(pages.shutdown)
        origin = f"http://127.0.0.1:{pages.server_port}"
        model = Program(chappie, "serve", "--text", str(work / "text"), "--rate", "60")
        stack.callback(model.close)
        def relay(port: str) -> Program:
            program = Program(
                chappie, "relay", "--base-url", model.url, "--api-key", "key", "--model", "m", "--port", port,
                "--journal", str(work / "journal"), "--lease", "1", "--allow-origin", origin)
            stack.callback(program.close)
            return program

        first = relay("0")
        browser = stack.enter_context(contextlib.closing(Browser(str(work / "profile"))))
        browser.open(f"{origin}/?relay={first.url.removesuffix('/v1')}")
        send(browser, "Why is the sky <i>blue</i>?")
        wait_for(browser, f"{ANSWERS}[0]?.length > 200", "some text")
        browser.picture(folder / "running.png")
        browser.events.clear()
        browser.ask("Page.reload")
        browser.wait_for_page()
        if browser.evaluate(RUNNING) != 1:
            fail("the answer had ended before the page was reloaded")
        check(browser, 1, "a reload in mid-answer")

        send(browser, "And at night?")
        wait_for(browser, f"{ANSWERS}[1]?.length > 200", "some text")
        first.close()
        if browser.evaluate(RUNNING) != 1:
            fail("the answer had ended before the relay was killed")
        second = relay(first.port)
        check(browser, 2, "a relay that was killed")

        # The answer to a message's request is lost with the page: the next one sends it again, and there is one answer.
        second.stop()
        send(browser, "And on Mars?")
        if not browser.evaluate(PENDING):
            fail("the message was answered before the page was reloaded")
        browser.events.clear()
        browser.ask("Page.reload")
        browser.wait_for_page()
        if not browser.evaluate(PENDING):
            fail("the page has not kept the message that was being sent")
        second.go_on()
        check(browser, 3, "a reload while a message is sent")
        browser.picture(folder / "end.png")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
