// The one rule for names of secrets, and what each of its users does with a name.
import EventSource
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieCommand

@Suite struct SecretNameTests {
    private static let value = "the-value-of-it"

    /// The value in a server's words is replaced.
    private static func isRedacted(_ name: String) -> Bool {
        SecretRedaction([]).adding([(name: name, value: Self.value)]).words(Self.value) != Self.value
    }

    /// The value in the line about an answer is replaced.
    private static func isHiddenInTheOutput(_ name: String) -> Bool {
        let printer = EventsPrinter(
            printsJSON: true, terminals: .init(output: false, errorOutput: false),
            style: TerminalStyle(isColored: false))
        let line = printer.line(ofStatusCode: 200, fields: [(name: name, value: Self.value)])
        return line?.contains(Self.value) == false
    }

    /// A redirect to another origin does not take the field along.
    private static func isDropped(_ name: String) -> Bool {
        let endpoint = TransportEndpoint(isSecure: true, host: "a.test", port: 443, target: "/")
        var session = EventSourceSession(.init(endpoint: endpoint, fields: [HTTPField(name, Self.value)]))
        _ = session.start()
        let head = ResponseHead(statusCode: 307, fields: [HTTPField("Location", "https://b.test/")])
        guard case .connect(let exchange) = session.head(head) else { return false }
        return exchange.fields.isEmpty
    }

    /// The command of a tool does not get a variable that its prefix would let through.
    private static func isKeptFromTools(_ name: String) -> Bool {
        ChildEnvironment.forTools(["XDG_" + name: Self.value]).isEmpty
    }

    @Test(arguments: [
        ("Authorization", true), ("X-Auth-Token", true), ("PRIVATE-TOKEN", true), ("X-Vault-Token", true),
        ("X-Api-Key", true), ("ocp-apim-subscription-key", true), ("Cookie", true), ("X-Client-Secret", true),
        ("x-PassWord", true), ("X-Amz-Security-Token", true), ("X-Credential", true), ("Proxy-Authorization", true),
        ("X-Plain", false), ("OpenAI-Organization", false), ("User-Agent", false), ("X-Request-Id", false),
    ])
    func oneRuleDecidesForAllUsesOfAName(_ name: String, _ isSecret: Bool) {
        #expect(FieldSecrets.isSecret(name) == isSecret)
        #expect(Self.isRedacted(name) == isSecret)
        #expect(Self.isHiddenInTheOutput(name) == isSecret)
        #expect(Self.isDropped(name) == isSecret)
        #expect(Self.isKeptFromTools(name) == isSecret)
    }
}
