#!/usr/bin/env python3
"""Compares our reader of responses with h11, and reads mutated responses whole and in pieces.

    run.py --reader BIN [--count N] [--seed S] [--mutations N]

Every difference must be one that `differences.py` explains, and every explanation must be needed by the corpus.
Exit code: 0 when that holds, 1 when not.
"""

import argparse
import collections
import random
import subprocess
import sys

import differences
import responses
import theirs

FRAMING = ("content-length", "transfer-encoding")


def parse(line):
    """Our reading, from a line of the program's output."""
    verdict, error, status, minor, count, content, fields = line.split("\t")
    pairs = [tuple(bytes.fromhex(part).decode() for part in pair.split("=")) for pair in fields.split(" ") if pair]
    return theirs.Reading(verdict, error, int(status) if status else None, int(minor) if minor else None, int(count),
                          bytes.fromhex(content), pairs, None)


def lines_of(exchanges):
    return "".join(f"{one.method} {'upgrade' if one.upgrade else 'none'} {one.data.hex()}\n" for one in exchanges)


def read_ours(reader, exchanges):
    output = subprocess.run([reader], input=lines_of(exchanges), capture_output=True, text=True, check=True).stdout
    return [parse(line) for line in output.removesuffix("\n").split("\n")]


def seen(reading):
    """Returns the values that must be equal."""
    if reading.status is None:
        return (reading.verdict,)
    # h11 rewrites the fields that frame the body; what they mean shows in the content.
    fields = [(name, value) for name, value in reading.fields if name.lower() not in FRAMING]
    count = reading.byte_count if reading.verdict == "complete" else None
    return (reading.verdict, reading.status, reading.minor, fields, reading.content, count)


def explanation(exchange, ours, other):
    for name, _, recognises in differences.TABLE:
        if recognises(exchange, ours, other):
            return name
    return None


def compare(reader, exchanges):
    """Prints unexplained differences; returns the number of uses of each explanation, and the number of defects."""
    counts, defects = collections.Counter(), 0
    for exchange, ours in zip(exchanges, read_ours(reader, exchanges), strict=True):
        other = theirs.read(exchange)
        if seen(ours) == seen(other):
            continue
        name = explanation(exchange, ours, other)
        counts[name] += 1
        if name is None:
            defects += 1
            if defects <= 10:
                print(f"not explained: {exchange}\n  ours   {ours}\n  theirs {other}")
    return counts, defects


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reader", required=True)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutations", type=int, default=0)
    options = parser.parse_args()
    corpus = responses.corpus()
    counts, defects = compare(options.reader, corpus)
    unused = [name for name, _, _ in differences.TABLE if not counts[name]]
    if unused:
        print("the corpus needs no such explanation:", ", ".join(unused))
    source = random.Random(options.seed)
    total = collections.Counter(counts)
    for start in range(0, options.count, 10_000):
        more, wrong = compare(options.reader,
                              [responses.response(source) for _ in range(min(10_000, options.count - start))])
        total += more
        defects += wrong
    read = len(corpus) + options.count
    print(f"{read} responses: {read - sum(total.values())} alike, {sum(total.values()) - defects} explained, {defects} not")
    for name, rule, _ in differences.TABLE:
        print(f"{total[name]:8}  {name}: {rule}")
    if options.mutations:
        subprocess.run([options.reader, "mutate", str(options.mutations), str(options.seed)],
                       input=lines_of(corpus), text=True, check=True)
    return 1 if defects or unused else 0


if __name__ == "__main__":
    sys.exit(main())
