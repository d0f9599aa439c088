"""Looks at report.html in Chromium, light and dark, wide and narrow: pictures of it, and what is wrong with its layout.

Usage: screenshots.py REPORT FOLDER
"""

from __future__ import annotations

import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).with_name("layout.js")
WIDTHS = [1400, 760, 400]
# What Chromium calls the schemes.
SCHEMES = {"dark": 0, "light": 1}
# A page takes it seconds.
TIME_LIMIT = 120
NAMES = ["chromium", "chromium-browser", "google-chrome"]


def browser() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        sys.exit("screenshots: there is no Chromium: Scripts/install.sh report")
    return found


def chromium(page: pathlib.Path, scheme: str, size: tuple[int, int], *options: str) -> str:
    """Opens a page, with a profile of its own; what it prints."""
    # Its processes may write into the profile a moment longer than it runs.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                   f"--user-data-dir={profile}", f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
                   f"--window-size={size[0]},{size[1]}", *options, page.resolve().as_uri()]
        try:
            run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired:
            sys.exit(f"screenshots: Chromium did not end in {TIME_LIMIT} s")
    if run.returncode != 0:
        sys.exit(f"screenshots: Chromium failed:\n{run.stderr}")
    return run.stdout


def framed(folder: pathlib.Path, page: pathlib.Path, width: int, height: int) -> pathlib.Path:
    """A page with the report in a frame: a window of Chromium cannot be as narrow as a telephone."""
    target = folder / "frame.html"
    target.write_text(f'<body style="margin:0"><iframe src="{html.escape(page.resolve().as_uri())}" scrolling="no" '
                      f'style="border:0;width:{width}px;height:{height}px"></iframe>', encoding="utf-8")
    return target


def layout(folder: pathlib.Path, report: pathlib.Path, scheme: str, width: int) -> dict:
    """What the check finds in the report at a width."""
    checked = folder / "checked.html"
    text = report.read_text(encoding="utf-8")
    frame = json.dumps(text.replace("</body>", f"<script>{CHECK.read_text(encoding='utf-8')}</script></body>"))
    # In a frame without an address of its own the page around it can read what the check says.
    checked.write_text(
        f'<body style="margin:0"><iframe id="frame" style="border:0;width:{width}px;height:1200px"></iframe><script>'
        f'document.getElementById("frame").srcdoc = {frame.replace("</", "<" + chr(92) + "/")};'
        'document.getElementById("frame").onload = event => {'
        'document.body.textContent = event.target.contentDocument.getElementById("layout").textContent; };</script>',
        encoding="utf-8")
    dump = chromium(checked, scheme, (max(width, 600), 1200), "--virtual-time-budget=10000", "--dump-dom")
    found = re.search(r"<body[^>]*>(\{.*\})", dump, re.DOTALL)
    if not found:
        sys.exit(f"screenshots: the check said nothing:\n{dump[:500]}")
    return json.loads(html.unescape(found[1]))


def look(report: pathlib.Path, folder: pathlib.Path) -> int:
    """Takes every picture; how many problems there are."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with tempfile.TemporaryDirectory() as work:
        for width in WIDTHS:
            for scheme in SCHEMES:
                found = layout(pathlib.Path(work), report, scheme, width)
                if found["width"] != width or found["isDark"] != (scheme == "dark"):
                    sys.exit(f"screenshots: Chromium drew {found['width']} pixels, dark: {found['isDark']}")
                picture = folder / f"report-{width}-{scheme}.png"
                height = found["height"]
                chromium(framed(pathlib.Path(work), report, width, height), scheme, (max(width, 600), height),
                         "--virtual-time-budget=10000", f"--screenshot={picture.resolve()}")
                print(f"{picture}: {width} x {height}, problems: {len(found['problems'])}")
                for problem in found["problems"]:
                    print(f"  {problem}")
                count += len(found["problems"])
    return count


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(1 if look(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])) else 0)
