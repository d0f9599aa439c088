// What a probe server tells of a request: names and kinds, and no value and no address. Pure.

/// The answer that tells what has arrived.
enum ProbeFacts {
    /// The field by which an answer is known to be a probe server's.
    static let field = ChappieTestServer.Field(name: "x-chappie-probe", value: "1")
    /// The most names of fields that are told.
    private static let nameLimit = 64

    /// Returns the JSON text: a list of models without any, the version of HTTP, and the names of the fields.
    static func text(of request: HTTPRequest) -> String {
        let names = request.fields.prefix(Self.nameLimit).map { JSONValue.quoted($0.name.lowercased()) }
        return "{\"object\":\"list\",\"data\":[],\"probe\":{\"http\":\"1.\(request.minorVersion)\",\"fields\":["
            + names.joined(separator: ",") + "]}}"
    }
}
