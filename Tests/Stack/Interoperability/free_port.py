"""Finds a port for a server that must be told one before it listens.

Usage: free_port.py     prints it

A port that the system gives to whoever asks for any may be given away again before the server has it. So this one is
below those, where none is given unless it is named, and chosen at random, for others that choose at the same time.
"""

import pathlib
import random
import socket

FIRST = 10000


def free_port():
    """Returns a port of 127.0.0.1 that nothing listens at and that the system gives to nobody."""
    given = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    candidates = range(FIRST, int(given[0]))
    for port in random.sample(candidates, len(candidates)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    # The system gives all of them away.
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    print(free_port())
