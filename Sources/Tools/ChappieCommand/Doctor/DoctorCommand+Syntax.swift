// The syntax of `chappie doctor`.

extension DoctorCommand {
    /// The command's options and operand.
    static let syntax = CommandSyntax(
        name: "doctor",
        summary:
            "Examines the path to a server, layer by layer: the layer that fails, the cause, and the settings that "
            + "fit. No model is asked.",
        operand: "URL",
        options: [
            .init("api-key", "KEY", "environment CHAPPIE_API_KEY, then OPENAI_API_KEY"),
            .init("account", "NAME", "examine with the credential of an account that 'chappie login' has signed in"),
            SignInOptions.storeOption,
            .init("fast", "take at most 5 s instead of 20 s"),
            .init(
                "hold", "LIST",
                "hold connections idle for these seconds, such as 30,60,300; a probe server has to be there"),
            .init("suggest", "print the settings that fit the path, and nothing else"),
            .init("full", "print names and addresses of machines as well"),
            .init("json", "print a JSON object instead of text"),
            EndpointOption.option,
            DialectOption.option,
            WebSocketQuirks.pathOption,
            WebSocketQuirks.subprotocolOption,
        ] + SignInOptions.connectionOptions,
        notes: [
            "URL is the base URL; environment CHAPPIE_BASE_URL, then OPENAI_BASE_URL, then \(BaseURL.byDefault). Without a URL and without a key, "
                + "the signed-in account and its server are examined. The exit code is 0 when everything works, 75 when turns "
                + "are possible with a defect or may be possible, and 69 when none is.",
            "Messages and event streams cannot be examined at an API without asking a model. Run 'chappie serve --probe' "
                + "beyond the path that is to be examined, and give its base URL.",
            "Without --full the output holds no secret, and no name or address of a machine beyond the URL that was typed, so "
                + "that it can be shown to others.",
        ]
    )
}
