// The recorded refusals of real servers, and the error that a program gets for each.
import Foundation
import Testing

@testable import ChappieTransport

/// The recorded refusals, where the folder with them is beside the checkout, or `CHAPPIE_CORPUS` names it.
@Suite struct CorpusErrorTests {
    private struct Refusal {
        let name: String
        let status: Int
        let fields: [String: String]
        let body: String
        let dialect: ChappieDialect
        let message: String?
    }

    private static let folder: URL = {
        let path = ProcessInfo.processInfo.environment["CHAPPIE_CORPUS"]
        let checkout = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..")
        return (path.map { URL(filePath: $0) } ?? checkout.appending(path: "../shared/corpus")).appending(
            path: "errors")
    }()

    private static func refusals() throws -> [Refusal] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: Self.folder.path)) ?? []
        return try names.filter { $0.hasSuffix(".json") }.sorted().map { name in
            let data = try Data(contentsOf: Self.folder.appending(path: name))
            let facts = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            let body = facts["body"].flatMap { $0 is NSNull ? nil : $0 }
            let path = facts["endpoint"] as? String ?? ""
            let error = (body as? [String: Any])?["error"]
            var fields = facts["headers"] as? [String: String] ?? [:]
            // The recorded body is not compressed any more, and its length is another one.
            for field in ["content-encoding", "content-length", "transfer-encoding", "connection"] {
                fields[field] = nil
            }
            fields["content-type"] = fields["content-type"] ?? "application/json"
            return Refusal(
                name: String(name.dropLast(5)), status: facts["status"] as? Int ?? 0, fields: fields,
                body: try body.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
                    ?? "",
                dialect: path.hasSuffix("/messages")
                    ? .messages : path.hasSuffix("/responses") ? .responses : .chatCompletions,
                message: (error as? [String: Any])?["message"] as? String ?? error as? String)
        }
    }

    /// The tag, the category and the delay before another request, by the status code of any server.
    private static let statuses: [Int: (tag: String, category: ChappieErrorCategory, guidance: ChappieRetryGuidance)] =
        [
            // A refusal in the place of the answer.
            200: ("http.content-type", .server, .none),
            400: ("http.400", .validation, .none), 401: ("auth.reauthentication-required", .auth, .none),
            403: ("http.403", .permission, .none), 404: ("http.404", .validation, .none),
            429: ("http.429", .rateLimit, .retryWithBackoff(afterSeconds: 30)),
            500: ("http.500", .server, .retryWithBackoff(afterSeconds: 5)),
            529: ("http.529", .server, .retryWithBackoff(afterSeconds: 5)),
        ]

    /// The advice of those whose code says more than their status.
    private static let advice: [(part: String, words: String)] = [
        ("model-not-found", "Name another model"), ("context-length-exceeded", "Shorten the input"),
        ("previous-response-not-found", "Send the whole input"), ("invalid-image-url", "Change the input"),
        ("429-ratelimitreached", "Wait 1 s"), ("-429-", "send fewer requests"), ("-401", "Check the"),
        ("-403-", "Ask for access"),
    ]

    @Test func everyRefusalIsWhatItsServerMeans() async throws {
        for refusal in try Self.refusals() {
            let script: [ScriptStep] = [
                .opened(refusal.status, fields: refusal.fields), .body(refusal.body), .ended(.complete),
            ]
            let fixture = TurnFixture([script]) {
                $0.dialect = refusal.dialect
                $0.policy = .httpSSEOnly
                $0.maxHTTPRetries = 0
                $0.rateLimitBackoff = .init(maxRetries: 0)
            }
            let error = try #require(await fixture.run().clientError, "\(refusal.name)")
            let row = try #require(Self.statuses[refusal.status], "\(refusal.name)")
            let isAzures = refusal.fields["retry-after"] != nil
            #expect(error.tag == row.tag && error.category == row.category, "\(refusal.name)")
            #expect(
                error.retryGuidance == (isAzures ? .retryWithBackoff(afterSeconds: 1) : row.guidance),
                "\(refusal.name)")
            if let advice = Self.advice.first(where: { refusal.name.contains($0.part) }) {
                #expect(error.safeDescription.contains(advice.words), "\(refusal.name)")
            }
            // The server's words are there for a person, and not in what may be shown to anyone.
            if let message = refusal.message {
                #expect(!error.safeDescription.contains(message), "\(refusal.name)")
                if refusal.status != 200, case .httpError(_, let body) = error {
                    #expect(!body.isEmpty, "\(refusal.name)")
                }
            }
        }
    }
}
