import Foundation
import ResponseEvents
import Testing

@testable import ChappieTransport

/// The forms of requests that servers take, by their hosts.
@Suite struct RequestFormTests {
    private static func form(_ host: String) throws -> ChatForm {
        let url = try #require(URL(string: "https://\(host)/v1"))
        return RequestForm(ChappieTransportConfiguration(baseURL: url)).chat
    }

    @Test(arguments: [
        ("api.openai.com", "max_completion_tokens", ChatForm.OutputMedia.behindOutputs),
        ("eu.api.openai.com", "max_completion_tokens", .behindOutputs),
        ("R.openai.azure.com", "max_completion_tokens", .behindOutputs),
        ("api.openai.com.example.org", "max_tokens", .inOutputs), ("notapi.openai.com", "max_tokens", .inOutputs),
        ("api.deepseek.com", "max_tokens", .inOutputs), ("127.0.0.1:11434", "max_tokens", .inOutputs),
    ])
    func serversOfOpenAIHaveTheirForm(_ host: String, _ limitName: String, _ media: ChatForm.OutputMedia) throws {
        let form = try Self.form(host)
        #expect(form.limitName == limitName)
        #expect(form.outputMedia == media)
    }

    @Test(
        arguments: [
            ("api.openai.com", []), ("api.groq.com", ["reasoning"]), ("api.cerebras.ai", ["reasoning"]),
            ("api.mistral.ai", ["content"]), ("r.services.ai.azure.com", nil), ("api.deepseek.com", nil),
            ("openrouter.ai", nil), ("localhost", nil),
        ] as [(String, Set<String>?)])
    func strictServersTakeTheirOwnMembers(_ host: String, _ members: Set<String>?) throws {
        #expect(try Self.form(host).takenMembers == members)
    }
}
