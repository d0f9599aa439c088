// The sessions: what a server says, event by event.
//
// Immutable values, made once at the start.

/// One response that is cut everywhere.
struct Session: Sendable {
    /// The name in tables and cases.
    let name: String
    /// The events' JSON texts.
    let lines: [String]

    /// Those that are made up here; `RecordedSessions` has the others.
    static let made: [Session] = [
        Self("text") { $0.addMessage(["Det er ", "21 °C", " in Oslo, ", "said the ", "lighthouse keeper", "."]) },
        Self("reasoning") { builder in
            builder.addReasoning([["**Looking ", "at the harbour**", "\n\nShort."], ["And ", "again: 🧭"]])
            builder.addMessage(["The boats ", "go out ", "at six ", "— when the ", "wind allows."])
        },
        Self("tools") { builder in
            builder.addReasoning([["Both ", "cities, ", "then SQL."]])
            builder.addCall(.init(name: "weather", pieces: [#"{"city":"#, #""Oslo","#, #""unit":"C"}"#]))
            builder.addCall(.init(name: "weather", pieces: [#"{"city":"#, #""Tromsø","unit":"C"}"#]))
            builder.addCall(.init(name: "sql", pieces: ["SELECT *\n", "FROM boats;"], isCustom: true))
        },
        Self("unicode") { $0.addMessage(Self.unicodePieces) },
        Self("refusal") { $0.addMessage(["I cannot ", "help with ", "that: it’s ", "locked."], isRefusal: true) },
        Self("encrypted") { builder in
            builder.addReasoning([])
            builder.addCall(.init(name: "list", pieces: [#"{"path":"#, #""."}"#]))
            builder.addMessage(["Listed."])
        },
    ]

    /// A session of events.
    init(name: String, lines: [String]) {
        self.name = name
        self.lines = lines
    }

    private init(_ name: String, _ build: (inout ResponseBuilder) -> Void) {
        var builder = ResponseBuilder(id: "resp_\(name)")
        build(&builder)
        self.init(name: name, lines: builder.finished())
    }

    /// Every width of UTF-8 and everything that a careless cut tears: marks alone in a delta, joiners, CR and LF apart.
    private static let unicodePieces = [
        "a", "é", "e", "\u{301}", "ß\u{7FF}", "\u{800}日本", "語", "\u{FFFD}", "\u{FFFD}\u{FFFD}", "👩", "\u{200D}",
        "🚀 ", "👨‍👩‍👧‍👦", "🇳", "🇴", "\r", "\n", "\r\n", "\n\r", "क", "\u{94D}", "ष", "\u{1F3FB}", "👍\u{1F3FF}", "\u{10FFFF}",
        "\u{FEFF}", "\u{202E}abc\u{202C}", "\u{0}\u{7F}", "\\ \" / \u{2028}", "ﷺ", "Z\u{351}\u{36B}\u{343}", "𝒳",
        "\u{1100}",
        "\u{1161}", "\u{11A8}", "end.",
    ]
}
