"""The machine of a run (processor, memory, system, load), and the versions of the compiler and the libraries."""

from __future__ import annotations

import os
import pathlib
import platform
import re
import subprocess

# The highest load of a machine without other work.
QUIET_LOAD = 0.5
# The names that pkg-config has.
LIBRARIES = ["libwebsockets", "zlib", "simdjson", "openssl"]
# The packages of libraries that pkg-config may not know.
DEBIAN_PACKAGES = {"simdjson": "libsimdjson-dev"}


def output_of(*command: str, folder: pathlib.Path | None = None) -> str:
    """Returns the output of a command; an empty text when it cannot be run or fails."""
    try:
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


def text_of(path: str) -> str:
    """Returns the text of a file of the system; an empty text when it cannot be read."""
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""


def describe(load_before: float) -> dict:
    """Returns the facts of this machine, with its load before the benchmarks were built."""
    information = text_of("/proc/cpuinfo")
    memory = re.search(r"^MemTotal:\s+(\d+) kB", text_of("/proc/meminfo"), re.MULTILINE)
    system = re.search(r'^PRETTY_NAME="?([^"\n]*)', text_of("/etc/os-release"), re.MULTILINE)
    machine = {
        "processor": processor(information),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "memoryBytes": int(memory[1]) * 1024 if memory else None,
        "system": system[1] if system else platform.platform(),
        "virtualization": virtualization(information),
        "loadBefore": round(load_before, 2),
    }
    return {name: value for name, value in machine.items() if value is not None}


def processor(information: str) -> str:
    """Returns the model name of the processor."""
    model = re.search(r"^model name\s*:\s*(.+)$", information, re.MULTILINE)
    return model[1].strip() if model else platform.processor() or platform.machine()


def virtualization(information: str) -> str:
    """Returns `none`, or the kind of virtual machine or container that can be detected."""
    detected = output_of("systemd-detect-virt")
    if detected:
        return detected
    if re.search(r"^flags\s*:.*\bhypervisor\b", information, re.MULTILINE):
        return text_of("/sys/class/dmi/id/product_name").strip() or "a virtual machine"
    return "none"


def warnings(machine: dict) -> list[str]:
    """Returns the reasons to doubt figures of this machine."""
    found = []
    if machine["loadBefore"] > QUIET_LOAD:
        found.append(f"the machine was not quiet: its load was {machine['loadBefore']:.2f} before the first program")
    if machine["cores"] < 2:
        found.append("there is one core only: server and client share it")
    return found


def versions() -> dict[str, str]:
    """Returns the versions of the compiler and of the libraries that the programs are built from."""
    found = {}
    swift = re.search(r"Swift version (\S+)", output_of("swift", "--version"))
    if swift:
        found["swift"] = swift[1]
    for name in LIBRARIES:
        version = output_of("pkg-config", "--modversion", name)
        if version:
            found[name] = version.rstrip("-")
    for name, package in DEBIAN_PACKAGES.items():
        if name not in found:
            version = output_of("dpkg-query", "--show", "--showformat", "${Version}", package)
            if version:
                found[name] = version.rstrip("-")
    if "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", {}):
        found["glibc"] = (os.confstr("CS_GNU_LIBC_VERSION") or "").removeprefix("glibc ")
    found["python"] = platform.python_version()
    return found


def commit(folder: pathlib.Path) -> dict:
    """Returns the commit that is checked out, and whether files differ from it; None for both outside a repository."""
    head = output_of("git", "rev-parse", "HEAD", folder=folder)
    if not head:
        return {"commit": None, "isModified": None}
    return {"commit": head, "isModified": bool(output_of("git", "status", "--porcelain", folder=folder))}


def sentence(results) -> str:
    """Returns the machine, the compiler, the day and the revision of a run as a sentence."""
    about = results.machine
    memory = about.get("memoryBytes")
    parts = [about.get("processor", "an unknown processor"), f"{about.get('cores', '?')} cores",
             f"{memory / 2 ** 30:.0f} GiB" if memory else "", about.get("system", ""),
             "" if about.get("virtualization", "none") == "none" else f"virtualization {about['virtualization']}",
             f"Swift {results.versions['swift']}" if "swift" in results.versions else ""]
    changed = " with changes" if results.isModified else ""
    revision = f", commit {results.commit[:12]}{changed}" if results.commit else ""
    return f"{', '.join(part for part in parts if part)}; {results.date[:10]}{revision}"
