// The syntax of `chappie events`.
import EventSource

extension EventsCommand {
    /// The command's options and operand.
    static let syntax = CommandSyntax(
        name: "events",
        summary: "Prints the events of a server as they arrive, and reconnects when the connection is lost.",
        operand: "URL",
        requiresOperand: true,
        options: [
            .init("method", "NAME", "the method of the request; default GET, and POST with --data"),
            .init(
                "data", "TEXT",
                "the content of the request, or @FILE for that of a file, @- for standard input; as application/json "
                    + "unless --header says otherwise"),
            .init(
                "header", "NAME: VALUE",
                "a field of the request, or @FILE for the lines of a file; may be given several times"),
            .init("last-event-id", "ID", "continue behind the event with this ID"),
            .init("max-events", "N", "stop after N events; default no limit"),
            .init("max-event", "BYTES", "the largest event; default 67108864 (64 MiB)"),
            .init(
                "max-reconnects", "N",
                "reconnections in a row that bring nothing of a stream; default no limit, 0 for no reconnection"),
            .init(
                "reconnection-time", "S",
                "seconds before a reconnection, until the server sets another time; default 3"),
            .init(
                "retry-status", "CODES",
                "status codes after which the request is repeated, such as 429,503; default none"),
            .init(
                "resend", "WHEN",
                "whether a POST is repeated: never, always, or asGet for a GET behind an event with an ID; default never",
                values: ResendingChoice.allCases.map(\.rawValue)),
            .init("connect-timeout", "S", "seconds for each attempt to connect; default 10, 0 for no limit"),
            .init("response-timeout", "S", "seconds to the head of each answer; default 60, 0 for no limit"),
            .init("idle-timeout", "S", "seconds between two pieces of a stream; default 0, no limit"),
            .init("timeout", "S", "seconds for everything; default 0, no limit"),
            .init("ca-file", "FILE", "trust the certification authorities in a PEM file, and no others"),
            .init(
                "proxy", "URL",
                "go through a proxy, as in chappie stream; environment HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY"),
            .init("report", "FILE", "write the attempts and their times as JSON"),
            .init("json", "print one JSON object a line instead of an event stream"),
        ],
        notes: [
            "Without --json the output is an event stream itself, which chappie sse reads. With it, a line with the "
                + "status code and the fields of the answer begins each stream. Reconnections are reported on standard "
                + "error.",
            "The command ends with 0 when the server answers 204, when a POST is answered with a stream, and after "
                + "--max-events. It ends with 69 after --max-reconnects, and when the answer is 202: the server has "
                + "then accepted the request, and sends no stream.",
            "A header on the command line can be seen by other users of the machine; @FILE is safer.",
        ]
    )
}

/// The choice about repeating a request with an effect.
enum ResendingChoice: String, CaseIterable {
    /// Never.
    case never
    /// As a GET, behind an event with an ID.
    case asGet
    /// As it is.
    case always

    /// The choice as the event source has it.
    var resending: EventSourceReconnectionPolicy.Resending {
        switch self {
        case .never: .never
        case .asGet: .asGet
        case .always: .always
        }
    }
}
