// Streams and what they mean, one rule of WHATWG HTML section 9.2.6 each. Inputs are Latin-1: one scalar, one byte.

import ServerSentEvents

/// A stream, and what a conforming parser finds in it.
struct EventStreamVector: CustomStringConvertible, Sendable {
    /// The rule, in words.
    let rule: String
    let input: [UInt8]
    let events: [ServerSentEvent]
    /// The number of bytes that complete each event; nil when the vector does not contain it.
    let offsets: [Int]?
    /// The reconnection times in order; nil when the specification leaves them open.
    let reconnectionTimes: [Int]?
    let lastEventID: String

    var description: String { self.rule }

    init(
        _ rule: String, _ input: String, _ events: [ServerSentEvent], at offsets: [Int]? = nil,
        retry reconnectionTimes: [Int] = [], lastEventID: String = ""
    ) {
        self.init(
            rule: rule, input: latin1(input), events: events, offsets: offsets, reconnectionTimes: reconnectionTimes,
            lastEventID: lastEventID)
    }

    init(
        rule: String, input: [UInt8], events: [ServerSentEvent], offsets: [Int]?, reconnectionTimes: [Int]?,
        lastEventID: String
    ) {
        self.rule = rule
        self.input = input
        self.events = events
        self.offsets = offsets
        self.reconnectionTimes = reconnectionTimes
        self.lastEventID = lastEventID
    }
}

private func message(_ data: String, type: String = "message", id: String = "") -> ServerSentEvent {
    ServerSentEvent(type: type, data: data, lastEventID: id)
}

extension EventStreamVector {
    /// Vectors of our own.
    static let own: [EventStreamVector] = dispatching + terminators + fields + identifiers + encodings

    private static let dispatching = [
        EventStreamVector("an empty stream has no events", "", []),
        EventStreamVector(
            "a blank line dispatches", "data: one\n\ndata: two\n\n", [message("one"), message("two")], at: [11, 22]),
        EventStreamVector(
            "an event without its blank line is discarded", "data: kept\n\ndata: gone\n", [message("kept")]),
        EventStreamVector("an event cut inside a line is discarded", "data: kept\n\ndata: go", [message("kept")]),
        EventStreamVector(
            "blank lines without data dispatch nothing", "\n\n\ndata: a\n\n\n\n", [message("a")], at: [12]),
        EventStreamVector(
            "a type without data dispatches nothing and is dropped", "event: t\n\ndata: a\n\n", [message("a")]),
        EventStreamVector("data lines are joined by LF", "data: a\ndata: b\ndata: c\n\n", [message("a\nb\nc")]),
        EventStreamVector("empty data lines count", "data:\ndata: a\ndata\n\n", [message("\na\n")]),
        EventStreamVector(
            "one empty data line is an event", "data\n\ndata:\n\ndata: \n\n", [message(""), message(""), message("")]),
        EventStreamVector("two empty data lines are one LF", "data\ndata\n\n", [message("\n")]),
        EventStreamVector(
            "a type holds for one event", "event: t\ndata: a\n\ndata: b\n\n", [message("a", type: "t"), message("b")]),
        EventStreamVector("the last type wins", "event: t\ndata: a\nevent: u\n\n", [message("a", type: "u")]),
        EventStreamVector(
            "an empty type is the default type", "event: t\nevent:\ndata: a\n\nevent: t\nevent\ndata: b\n\n",
            [message("a"), message("b")]),
    ]

    private static let terminators = [
        EventStreamVector(
            "CR ends lines at once", "event: t\rdata: a\r\rdata: b\r\r", [message("a", type: "t"), message("b")],
            at: [18, 27]),
        EventStreamVector(
            "CRLF is one terminator", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", [message("a\nb"), message("c")],
            at: [19, 30]),
        EventStreamVector(
            "a CR blank line is not delayed by a LF that follows", "data: a\r\r\ndata: b\r\r\n",
            [message("a"), message("b")], at: [9, 19]),
        EventStreamVector(
            "LF and CR mix", "data: a\n\rdata: b\r\n\ndata: c\r\n\r", [message("a"), message("b"), message("c")],
            at: [9, 19, 29]),
        EventStreamVector("a CR is forgotten by the byte after it", "data: a\rdata: b\n\n", [message("a\nb")]),
        EventStreamVector("a comment after a CR does not hide a LF", "data: a\r:\n\n", [message("a")]),
        EventStreamVector(
            "VT, FF, NEL and U+2028 end nothing", "data: a\u{B}b\u{C}c\u{C2}\u{85}d\u{E2}\u{80}\u{A8}e\n\n",
            [message("a\u{B}b\u{C}c\u{85}d\u{2028}e")]),
        EventStreamVector(
            "bytes that end like CR and LF end nothing", "data: \u{E0}\u{A8}\u{8A}\u{E0}\u{B4}\u{8D}\n\n",
            [message("\u{A0A}\u{D0D}")]),
    ]

    private static let fields = [
        EventStreamVector(
            "one space after the colon is dropped", "data:a\n\ndata: a\n\ndata:  a \n\ndata:\ta\n\n",
            [message("a"), message("a"), message(" a "), message("\ta")]),
        EventStreamVector("the first colon divides", "data: a:b\n\ndata::\n\n", [message("a:b"), message(":")]),
        EventStreamVector(
            "names are exact",
            "Data: a\ndata : b\n data: c\ndat: d\ndatas: e\n\u{0}data: f\ndata\u{0}: g\nevents: h\ndata: i\n\n",
            [message("i")]),
        EventStreamVector(
            "unknown fields are ignored", "colour: red\nhello\nlonger-than-any-name\ndata: a\n\n", [message("a")]),
        EventStreamVector("comments are ignored", ":\n: data: x\ndata: a\n:data: y\n\n", [message("a")]),
        EventStreamVector(
            "a long comment and a long field",
            ":" + String(repeating: "c", count: 300) + "\nx" + String(repeating: "y", count: 300) + ": z\ndata: a\n\n",
            [message("a")]),
        EventStreamVector("NUL stays in data and type", "event: \u{0}t\ndata: \u{0}\n\n", [message("\0", type: "\0t")]),
        EventStreamVector("a reconnection time acts at its line end", "retry: 77\nretry:08\n", [], retry: [77, 8]),
        EventStreamVector("a cut reconnection time does not act", "retry: 77", []),
        EventStreamVector(
            "only ASCII digits are a reconnection time",
            "retry: -1\nretry: +1\nretry: 1.5\nretry:  1\nretry: 1 \nretry: 1x\nretry: 1\u{0}\nretry: \u{D9}\u{A3}\nretry: 1_0\n",
            []),
        EventStreamVector(
            "a reconnection time past Int is ignored",
            "retry: 9223372036854775807\nretry: 9223372036854775808\nretry: 99999999999999999999999\nretry: 1\n", [],
            retry: [.max, 1]),
        EventStreamVector(
            "an empty reconnection time is ignored", "retry:\nretry\nretry: \ndata: a\n\n", [message("a")]),
    ]

    private static let identifiers = [
        EventStreamVector(
            "an ID stays", "id: 1\ndata: a\n\ndata: b\n\n", [message("a", id: "1"), message("b", id: "1")],
            lastEventID: "1"),
        EventStreamVector(
            "an empty ID resets", "id: 1\ndata: a\n\nid\ndata: b\n\nid: 2\ndata: c\n\nid:\ndata: d\n\n",
            [message("a", id: "1"), message("b"), message("c", id: "2"), message("d")]),
        EventStreamVector(
            "an ID after the data counts", "data: a\nid: 1\n\n", [message("a", id: "1")], lastEventID: "1"),
        EventStreamVector("an ID without data is committed by the blank line", "id: 1\n\n", [], lastEventID: "1"),
        EventStreamVector("an ID without a blank line is not committed", "id: 1\n\nid: 2\n", [], lastEventID: "1"),
        EventStreamVector(
            "an ID with a NUL is ignored", "id: 1\nid: 2\u{0}3\nid: \u{0}\ndata: a\n\nid\u{0}: 4\ndata: b\n\n",
            [message("a", id: "1"), message("b", id: "1")], lastEventID: "1"),
        EventStreamVector(
            "an ID is any text", "id:  a:b \ndata: x\n\n", [message("x", id: " a:b ")], lastEventID: " a:b "),
        EventStreamVector(
            "the last ID of an event wins", "id: 1\nid: 22\nid: 3\ndata: x\n\n", [message("x", id: "3")],
            lastEventID: "3"),
    ]

    private static let encodings = [
        EventStreamVector("one byte order mark is dropped", "\u{EF}\u{BB}\u{BF}data: a\n\n", [message("a")], at: [12]),
        EventStreamVector(
            "a byte order mark before a blank line and before CR", "\u{EF}\u{BB}\u{BF}\r\ndata: a\n\n", [message("a")]),
        EventStreamVector(
            "a second byte order mark is part of a name", "\u{EF}\u{BB}\u{BF}\u{EF}\u{BB}\u{BF}data: a\ndata: b\n\n",
            [message("b")]),
        EventStreamVector(
            "a byte order mark later is part of a name", "\n\u{EF}\u{BB}\u{BF}data: a\ndata: b\n\n", [message("b")]),
        EventStreamVector(
            "a broken byte order mark is part of a name", "\u{EF}\u{BB}data: a\n\u{EF}:b\ndata: c\n\n", [message("c")]),
        EventStreamVector("a broken byte order mark before a line end", "\u{EF}\ndata: c\n\n", [message("c")]),
        EventStreamVector("a byte order mark in a value stays", "data: \u{EF}\u{BB}\u{BF}\n\n", [message("\u{FEFF}")]),
        EventStreamVector(
            "text of every length in UTF-8", "data: \u{C3}\u{A9}\u{E6}\u{BC}\u{A2}\u{F0}\u{9F}\u{99}\u{82}\n\n",
            [message("\u{E9}\u{6F22}\u{1F642}")]),
        EventStreamVector(
            "invalid bytes are repaired, one maximal subpart each", "data: \u{FF}a\u{E2}\u{82}b\u{C0}\u{AF}\n\n",
            [message("\u{FFFD}a\u{FFFD}b\u{FFFD}\u{FFFD}")]),
        EventStreamVector(
            "a line end is not eaten by a broken sequence", "data: \u{E2}\u{82}\ndata: \u{AC}\n\n",
            [message("\u{FFFD}\n\u{FFFD}")]),
        EventStreamVector(
            "invalid bytes in a name, a type and an ID", "da\u{FF}ta: a\nevent: \u{FF}\nid: \u{C0}\u{80}\ndata: b\n\n",
            [message("b", type: "\u{FFFD}", id: "\u{FFFD}\u{FFFD}")], lastEventID: "\u{FFFD}\u{FFFD}"),
        EventStreamVector(
            "combining marks do not join colon, space, name or NUL",
            "data:\u{CC}\u{81}a\ndata: \u{CC}\u{81}b\ndata\u{CC}\u{81}: c\nid: \u{0}\u{CC}\u{81}\n\n",
            [message("\u{301}a\n\u{301}b")]),
        EventStreamVector(
            "canonically equivalent texts stay apart", "data: e\u{CC}\u{81}\n\ndata: \u{C3}\u{A9}\n\n",
            [message("e\u{301}"), message("\u{E9}")]),
    ]
}
