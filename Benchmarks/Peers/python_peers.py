"""Parses the benchmark's streams with event-stream parsers of PyPI, and times it.

Usage: python_peers.py FOLDER PEER WORKLOAD...

FOLDER is written by `sse-throughput --write-corpus`, PEER is one of PEERS, a workload is CORPUS/CHUNK-BYTES. The output
is a line of JSON for each workload: the counts of a first pass, and the seconds of the passes after it. The parsers get
the chunks directly, without the HTTP client around them. Seconds are processor time of the whole process.
"""

import codecs
import importlib.metadata
import json
import pathlib
import sys
import time
import zlib

REPETITIONS = 3
# A pass takes this long at most, by the speed of a small one; a slow parser gets less of the stream.
SECONDS_A_PASS = 0.1
# The most repetitions of a short pass, which is otherwise repeated for as long as long passes are.
MOST_REPETITIONS = 60


def decoded(chunks):
    """Decodes a body as httpx does."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for chunk in chunks:
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def anthropic(chunks):
    from anthropic._streaming import SSEDecoder

    return SSEDecoder().iter_bytes(iter(chunks))


def httpx_sse(chunks):
    from httpx_sse._decoders import SSEDecoder, SSELineDecoder

    lines, events = SSELineDecoder(), SSEDecoder()
    for text in decoded(chunks):
        for line in lines.decode(text):
            event = events.decode(line)
            if event is not None:
                yield event
    for line in lines.flush():
        event = events.decode(line)
        if event is not None:
            yield event


def httpx2(chunks):
    from httpx2._sse import _SSEParser

    parser = _SSEParser()
    for text in decoded(chunks):
        yield from parser.decode(text)
    yield from parser.flush()


def launchdarkly(chunks):
    from ld_eventsource.actions import Event
    from ld_eventsource.reader import _BufferedLineReader, _SSEReader

    for item in _SSEReader(_BufferedLineReader.lines_from(chunks)).events_and_comments():
        if isinstance(item, Event):
            yield item


def openai(chunks):
    from openai._streaming import SSEDecoder

    return SSEDecoder().iter_bytes(iter(chunks))


def sseclient(chunks):
    from sseclient import SSEClient

    return SSEClient(chunks).events()


PEERS = {
    "anthropic": ("anthropic", anthropic),
    "httpx-sse": ("httpx-sse", httpx_sse),
    "httpx2": ("httpx2", httpx2),
    "launchdarkly-eventsource": ("launchdarkly-eventsource", launchdarkly),
    "openai": ("openai", openai),
    "sseclient-py": ("sseclient-py", sseclient),
}


def found(parse, chunks):
    """Parses a stream; counts its events, and sums up every byte of data."""
    event_count = byte_count = checksum = 0
    for event in parse(chunks):
        data = event.data.encode()
        event_count += 1
        byte_count += len(data)
        checksum = zlib.crc32(b"\0", zlib.crc32(data, checksum))
    return {"eventCount": event_count, "dataByteCount": byte_count, "dataChecksum": checksum}


def seconds(parse, chunks):
    """Times a pass that only counts events; returns its seconds and the count."""
    event_count = 0
    start = time.process_time()
    for event in parse(chunks):
        event_count += 1
    return time.process_time() - start, event_count


def pieces(stream, byte_count, chunk_byte_count):
    starts = range(0, byte_count, chunk_byte_count)
    return [stream[start : min(start + chunk_byte_count, byte_count)] for start in starts]


def measure(folder, facts, parse, workload):
    corpus, chunk_byte_count = workload.split("/")
    chunk_byte_count = int(chunk_byte_count)
    description = next(item for item in facts if item["corpus"] == corpus)
    stream = (folder / description["file"]).read_bytes()
    sizes = [prefix["byteCount"] for prefix in description["prefixes"]]
    chosen = sizes[0]
    for size in sizes:
        elapsed, _ = seconds(parse, pieces(stream, chosen, chunk_byte_count))
        if elapsed * size / chosen > SECONDS_A_PASS and size > chosen:
            break
        chosen = size
    chunks = pieces(stream, chosen, chunk_byte_count)
    result = found(parse, chunks)
    times = []
    while len(times) < REPETITIONS or sum(times) < REPETITIONS * SECONDS_A_PASS and len(times) < MOST_REPETITIONS:
        elapsed, event_count = seconds(parse, chunks)
        if event_count != result["eventCount"]:
            raise RuntimeError(f"{event_count} events, {result['eventCount']} before")
        times.append(elapsed)
    return {"byteCount": chosen, "seconds": times, **result}


def main():
    folder = pathlib.Path(sys.argv[1])
    distribution, parse = PEERS[sys.argv[2]]
    facts = json.loads((folder / "facts.json").read_text())
    about = {"peer": sys.argv[2], "version": importlib.metadata.version(distribution)}
    for workload in sys.argv[3:]:
        try:
            result = measure(folder, facts, parse, workload)
        except Exception as error:  # a peer's error is its result
            result = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps({**about, "workload": workload, **result}), flush=True)


main()
