"""Where and with what was measured: processor, memory, system, load; versions of what the programs are built from."""

from __future__ import annotations

import os
import pathlib
import platform
import re
import subprocess

# A machine whose load is above this does other work.
QUIET_LOAD = 0.5
# The names that pkg-config has.
LIBRARIES = ["libwebsockets", "zlib", "simdjson", "openssl"]
# For a library whose package has no file for pkg-config.
DEBIAN_PACKAGES = {"simdjson": "libsimdjson-dev"}


def output_of(*command: str, folder: pathlib.Path | None = None) -> str:
    """What a command prints, or nothing when it cannot be run or fails."""
    try:
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


def text_of(path: str) -> str:
    """What a file of the system says, or nothing."""
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""


def describe(load_before: float) -> dict:
    """The machine, with its load before the benchmarks were built."""
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
    """The model's name, as the system has it."""
    model = re.search(r"^model name\s*:\s*(.+)$", information, re.MULTILINE)
    return model[1].strip() if model else platform.processor() or platform.machine()


def virtualization(information: str) -> str:
    """`none`, or what the machine runs in as far as it can be seen."""
    detected = output_of("systemd-detect-virt")
    if detected:
        return detected
    if re.search(r"^flags\s*:.*\bhypervisor\b", information, re.MULTILINE):
        return text_of("/sys/class/dmi/id/product_name").strip() or "a virtual machine"
    return "none"


def warnings(machine: dict) -> list[str]:
    """What makes figures of this machine doubtful."""
    found = []
    if machine["loadBefore"] > QUIET_LOAD:
        found.append(f"the machine was not quiet: its load was {machine['loadBefore']:.2f} before the first program")
    if machine["cores"] < 2:
        found.append("there is one core only: server and client share it")
    return found


def versions() -> dict[str, str]:
    """Of the compiler and of the libraries that the programs are built from."""
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
    """What is checked out, and whether files differ from it; nothing outside a repository."""
    head = output_of("git", "rev-parse", "HEAD", folder=folder)
    if not head:
        return {"commit": None, "isModified": None}
    return {"commit": head, "isModified": bool(output_of("git", "status", "--porcelain", folder=folder))}


def sentence(results) -> str:
    """The machine, the compiler, the day and the revision of a run, in words."""
    about = results.machine
    memory = about.get("memoryBytes")
    parts = [about.get("processor", "an unknown processor"), f"{about.get('cores', '?')} cores",
             f"{memory / 2 ** 30:.0f} GiB" if memory else "", about.get("system", ""),
             "" if about.get("virtualization", "none") == "none" else f"virtualization {about['virtualization']}",
             f"Swift {results.versions['swift']}" if "swift" in results.versions else ""]
    changed = " with changes" if results.isModified else ""
    revision = f", commit {results.commit[:12]}{changed}" if results.commit else ""
    return f"{', '.join(part for part in parts if part)}; {results.date[:10]}{revision}"
