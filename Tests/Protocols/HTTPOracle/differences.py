"""The differences between our reader and h11 that the RFCs explain.

Each has a name, the rule, and a function that recognises it by the exchange, our reading and h11's. A difference that
none of them recognises is a defect, or a rule that is missing here.
"""

import re

import theirs as h11_reading

FRAMING_NAME = re.compile("(?i)content-length$|transfer-encoding$")
# Field lines that decide about the body, anywhere in the heads.
FRAMING = re.compile(rb"(?i)^(content-length|transfer-encoding):", re.M)
# At the start, or behind the empty line that ends an interim response.
EMPTY_LINE_FIRST = re.compile(rb"^\r?(\n|$)|\n\r?\n\r?\n")


def heads_of(data):
    """The bytes up to the empty line behind the last head, as far as one can tell without reading them."""
    return re.split(rb"\n\r?\n(?!\r?\n|HTTP/)", data, maxsplit=1)[0] + b"\n"


def is_empty_line(exchange, ours, theirs):
    return theirs.error in ("no response line received", "illegal request line") and \
        bool(EMPTY_LINE_FIRST.search(exchange.data))


def is_control(exchange, ours, theirs):
    match = re.fullmatch(r"controlCharacter\((\d+)\)", ours.error)
    return bool(match) and int(match[1]) not in (0, 9, 10, 11, 12, 13)


def is_major_version(exchange, ours, theirs):
    return ours.error == "notHTTP" and bool(re.search(rb"(^|\n)HTTP/[02-9]\.[0-9] [0-9]{3}", exchange.data))


def is_length_beside_coding(exchange, ours, theirs):
    names = {name.lower() for name in FRAMING.findall(heads_of(exchange.data))}
    return theirs.verdict == "wrong" and "Content-Length" in theirs.error and len(names) == 2


def is_coding_in_http10(exchange, ours, theirs):
    return ours.error == "transferEncodingInHTTP10" and b"HTTP/1.0" in exchange.data


def is_field_of_no_body(exchange, ours, theirs):
    """The framing fields of the last head that h11 saw have no effect."""
    told = re.search("Content-Length|Transfer-Encoding", theirs.error)
    return theirs.verdict == "wrong" and theirs.phase == "head" and bool(told) and (
        ours.status in (101, 204, 304) or exchange.method == "CONNECT" and (ours.status or 0) // 100 == 2
        or bool(re.search(rb"HTTP/1\.[0-9] 1[0-9][0-9]", exchange.data)))


def is_large_length(exchange, ours, theirs):
    values = re.findall(rb"(?im)^content-length:[^0-9\n]*([0-9]+)", exchange.data)
    return ours.error == "invalidContentLength" and any(int(value) > 2**63 - 1 for value in values)


def is_zero_before_length(exchange, ours, theirs):
    return theirs.verdict == "wrong" and "Content-Length" in theirs.error and \
        bool(re.search(rb"(?im)^content-length:[^\n]*(\n[ \t][^\n]*)*\b0[0-9]", exchange.data))


def is_space_before_extension(exchange, ours, theirs):
    return "illegal chunk header" in theirs.error and bool(re.search(rb"(?i)[0-9a-f][ \t]+;", exchange.data))


def is_large_chunk(exchange, ours, theirs):
    return ours.error == "chunkSizeOverflow" and bool(re.search(rb"(?i)[0-9a-f]{16}", exchange.data))


def is_long_chunk_size(exchange, ours, theirs):
    return "illegal chunk header" in theirs.error and bool(re.search(rb"(?i)0[0-9a-f]{20}", exchange.data))


def is_strict_extension(exchange, ours, theirs):
    return ours.error == "invalidChunkLine" and bool(re.search(rb";[^\n]*([\x00-\x08\x0b-\x1f\x7f\"])", exchange.data))


def is_trailer(exchange, ours, theirs):
    return theirs.phase == "body" and theirs.verdict == "wrong" and ours.verdict in ("complete", "incomplete") and \
        bool(re.search("illegal header line|continuation line|Content-Length|Transfer-Encoding", theirs.error))


def is_fold(exchange, ours, theirs):
    def squeezed(fields):
        return [(name, re.sub("[ \t]+", " ", value)) for name, value in fields if not FRAMING_NAME.match(name)]
    return ours.verdict == theirs.verdict and ours.content == theirs.content and ours.status == theirs.status and \
        squeezed(ours.fields) == squeezed(theirs.fields) and bool(re.search(rb"[ \t]\r?\n[ \t]", exchange.data))


def is_early(exchange, ours, theirs):
    """h11 reports an error when the line or head with it is whole, and this connection ended before."""
    whole = exchange._replace(data=exchange.data + b"\r\n\r\n")
    return ours.verdict == "wrong" and theirs.verdict == "incomplete" and h11_reading.read(whole).verdict == "wrong"


TABLE = [
    ("empty line before the status line", "RFC 9112 section 2.2 asks robust servers to skip one; a client may too, and "
     "this one skips four", is_empty_line),
    ("control character", "RFC 9110 section 5.5: field values with control characters are invalid; h11 keeps all but "
     "NUL and white space", is_control),
    ("other major version", "RFC 9112 section 2.3: another major version is another protocol; h11 does not look at it",
     is_major_version),
    ("faulty Content-Length beside Transfer-Encoding", "RFC 9112 section 6.3 rule 3: the coding wins, and the length is "
     "not read; h11 checks it", is_length_beside_coding),
    ("Transfer-Encoding in HTTP/1.0", "RFC 9112 section 6.1: the framing is faulty; h11 reads chunks",
     is_coding_in_http10),
    ("framing field of a response without a body", "RFC 9112 section 6.3 rules 1 and 2: such a response ends with its "
     "head whatever its fields say; h11 checks them all the same", is_field_of_no_body),
    ("length above Int.max", "RFC 9110 section 8.6: a recipient must prevent integer overflow; h11's integers have no "
     "end, and its limit is 20 digits", is_large_length),
    ("zeros before a length", "RFC 9110 section 8.6: 1*DIGIT, so 05 is 5; h11 compares texts, and "
     "allows 20 digits", is_zero_before_length),
    ("white space before a chunk extension", "RFC 9112 section 7.1.1 has BWS before the semicolon; h11 refuses it",
     is_space_before_extension),
    ("chunk size above Int.max", "RFC 9112 section 7.1: recipients must prevent integer overflow; h11's limit is 20 "
     "digits", is_large_chunk),
    ("zeros before a chunk size", "RFC 9112 section 7.1: 1*HEXDIG; h11 allows 20 digits", is_long_chunk_size),
    ("control character or open quote in an extension", "RFC 9112 section 7.1.1: a token or a quoted string; h11 takes "
     "any bytes", is_strict_extension),
    ("trailer section", "RFC 9112 section 7.1.2: trailer fields may be discarded, and are not looked at; h11 reads "
     "them like a head", is_trailer),
    ("white space around a line break", "RFC 9112 section 5.2: obs-fold has the white space before the line break, and "
     "is replaced by one or more spaces; h11 keeps it", is_fold),
    ("wrong at once", "no rule wants a whole line before an error; h11 waits for lines and heads to end, and the "
     "connection ended first: both fail", is_early),
]
