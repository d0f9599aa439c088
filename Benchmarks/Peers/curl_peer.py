"""Reads responses of stream-server with curl, and times it.

Usage: curl_peer.py TASK

Arguments and output are those of stream_peers.py. Seconds are those that curl reports, from its start to the last byte;
processor time is that of the whole process. The body goes to /dev/null, except in the pass that checks it.
"""

import json
import resource
import subprocess
import sys
import zlib


def command(task, size, *options):
    """The command line of curl, without buffering, configuration and progress."""
    words = ["curl", "--disable", "--silent", "--show-error", "--fail", "--no-buffer", *options]
    words += ["--compressed"] if task["isCompressed"] else []
    _, url, certificate = size
    return [*words, *(["--cacert", certificate] if certificate else []), url + "/responses"]


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(task, size):
    """Times a pass, and counts the bytes of the connection."""
    before = processor_seconds()
    form = "%{time_total} %{size_download}"
    words = command(task, size, "--output", "/dev/null", "--write-out", form)
    output = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    times = {"seconds": float(output[0]), "processorSeconds": processor_seconds() - before}
    return {**times, "receivedByteCount": int(output[1])}


def check(task, size):
    """Reads and checks every byte of the body, and counts the bytes of the connection."""
    process = subprocess.Popen(
        command(task, size, "--write-out", "%{stderr}%{size_download}"), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    byte_count = checksum = 0
    while piece := process.stdout.read(1 << 20):
        byte_count += len(piece)
        checksum = zlib.crc32(piece, checksum)
    report = process.stderr.read().decode()
    if process.wait() != 0:
        sys.exit(report)
    found = {"eventCount": size[0], "bodyByteCount": byte_count, "bodyChecksum": checksum}
    return {"streams": [found]}, int(report)


def counted(task, size, received, body_byte_count):
    """Times a pass, which has to receive as many bytes as the pass that was checked."""
    timed = run(task, size)
    if timed["receivedByteCount"] != received:
        sys.exit(f"{timed['receivedByteCount']} bytes came, {received} before")
    return {**timed, "streams": [{"eventCount": size[0], "bodyByteCount": body_byte_count}]}


def main():
    task = json.loads(sys.argv[1])
    chosen = task["sizes"][0]
    for size in task["sizes"][1:]:
        elapsed = run(task, chosen)["seconds"]
        if elapsed * size[0] / chosen[0] > task["seconds"]:
            break
        chosen = size
    first, received = check(task, chosen)
    byte_count = first["streams"][0]["bodyByteCount"]
    if (received < byte_count) != task["isCompressed"]:
        sys.exit(f"{received} bytes came of a body of {byte_count}")
    runs = [counted(task, chosen, received, byte_count) for _ in range(task["runCount"])]
    version = subprocess.run(["curl", "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    print(json.dumps({"version": version, "deltaCount": chosen[0], "check": first, "runs": runs}))


try:
    main()
except subprocess.CalledProcessError as error:
    sys.exit((error.stderr or str(error)).strip())
