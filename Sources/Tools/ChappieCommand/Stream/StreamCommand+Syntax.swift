// The syntax of `chappie stream`.
import Chappie
import PlatformFoundation

extension StreamCommand {
    /// The command's options and operand.
    static let syntax = CommandSyntax(
        name: "stream",
        summary:
            "Streams one turn and prints the text as it arrives. PROMPT is read from standard input when it is -, "
            + "or when there is none and the input is no terminal.",
        operand: "PROMPT",
        options: [
            .init(
                "base-url", "URL",
                "such as https://api.openai.com/v1 or http://127.0.0.1:8080/v1; environment CHAPPIE_BASE_URL, then OPENAI_BASE_URL"
            ),
            EndpointOption.option,
            .init("api-key", "KEY", "environment CHAPPIE_API_KEY, then OPENAI_API_KEY"),
            .init(
                "account", "NAME",
                "use an account that 'chappie login' has signed in; the base URL is then --base-url, or "
                    + SignInOptions.defaultAddress),
            SignInOptions.storeOption,
            .init("demo", "stream made-up text from an embedded server"),
            .init("model", "NAME", "the model; environment CHAPPIE_MODEL"),
            .init("instructions", "TEXT", "the instructions, or system prompt"),
            .init("effort", "LEVEL", "the reasoning effort, such as low, medium or high"),
            .init("service-tier", "TIER", "the service tier, such as auto, flex or priority"),
            .init("web-search", "let the model search the web"),
            .init("request", "FILE", "a whole request body as JSON; the options above override its fields"),
            DialectOption.option,
            .init("http-only", "never open a WebSocket"),
            WebSocketQuirks.pathOption,
            WebSocketQuirks.subprotocolOption,
            .init("no-compression", "offer no compression, of messages of a WebSocket and of HTTP"),
            .init("max-reconnects", "N", "retries of each transport; default 5, 0 for none"),
            .init(
                "hedge-delay", "S", "seconds after which HTTP is opened beside a slow upgrade; default 2, 0 for never"),
            .init(
                "recovery", "WHICH",
                "the recovery of a broken response: verify, resumeOnly or never; default verify",
                values: ChappieRecoveryPolicy.allCases.map(\.rawValue)),
            .init(
                "on-divergence", "WHICH",
                "what follows when a repeated request is answered differently: fail, or restart, which prints the new "
                    + "answer from its beginning, and strikes the old one out where a terminal still shows it; default "
                    + "fail",
                values: Divergence.allCases.map(\.rawValue)),
            .init("connect-timeout", "S", "seconds for each attempt to connect; default 10, 0 for no limit"),
            .init("first-event-timeout", "S", "seconds to each attempt's first event; default 60, 0 for no limit"),
            .init("idle-timeout", "S", "seconds between two signs of life; default 300, 0 for no limit"),
            .init("progress-timeout", "S", "seconds between two events with content; default 1800, 0 for no limit"),
            .init("timeout", "S", "seconds for the whole turn; default 0, no limit"),
            .init(
                "ping-interval", "S",
                "seconds of silence after which a WebSocket is pinged, and TCP probes the peer; default 20, 0 for never"
            ),
            .init("retry-429", "N", "retries of a rate-limited request; default 2, 0 for none"),
            .init(
                "tool", "NAME=COMMAND",
                "let the model call a command: it gets the arguments on standard input, and its output goes back; "
                    + "may be given several times"),
            .init(
                "approve", "WHEN",
                "whether commands run when they are called: always, never or ask; default ask on a terminal, else never",
                values: ToolApprovalChoice.allCases.map(\.rawValue)),
        ] + SignInOptions.connectionOptions + [
            .init(
                "raw", "WHICH", "print raw events of the server: none, unsurfaced or all; default none",
                values: ChappieRawEvents.allCases.map(\.rawValue)),
            .init("report", "FILE", "write the attempts, timings and outcome of the stream as JSON"),
            .init("json", "print one JSON object a line instead of text"),
        ],
        notes: [
            "Without a base URL and without a key, the signed-in account is used; without an account too, the exit code is 77.",
            "The command of a tool sees of the environment what shells and programs need, such as PATH, HOME and LANG, and "
                + "no keys.",
            "A key or a proxy's password on the command line can be seen by other users of the machine; the environment is safer.",
        ]
    )
}
