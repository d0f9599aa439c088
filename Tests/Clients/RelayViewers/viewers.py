#!/usr/bin/env python3
"""Measure the memory of a viewer: viewers.py PROGRAM [COUNT] [tls], where PROGRAM is relay-viewers."""

import socket
import ssl
import subprocess
import sys


def viewer(port, context):
    """Open a viewer of the stream that never ends, and read its first chunk."""
    connection = socket.create_connection(("127.0.0.1", port))
    if context:
        connection = context.wrap_socket(connection)
    connection.sendall(b"GET /open HTTP/1.1\r\nHost: localhost\r\n\r\n")
    received = b""
    while b"data: first" not in received:
        received += connection.recv(65536)
    return connection


def main():
    arguments = sys.argv[2:]
    context = None
    if "tls" in arguments:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    count = int(arguments[0]) if arguments and arguments[0].isdigit() else 1000
    program = subprocess.Popen(
        [sys.argv[1], "memory", str(count)] + (["tls"] if context else []),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = int(program.stdout.readline().split()[1])
    # What the first connections make once is not a viewer's.
    for connection in [viewer(port, context) for _ in range(20)]:
        connection.close()
    program.stdin.write("\n")
    program.stdin.flush()
    program.stdout.readline()
    viewers = [viewer(port, context) for _ in range(count)]
    program.stdin.write("\n")
    program.stdin.flush()
    sys.stdout.write(program.stdout.read())
    for connection in viewers:
        connection.close()
    program.wait()


if __name__ == "__main__":
    main()
