// The arguments of `chappie serve` that are about signing in.
import ChappieTestServer
import Testing

@testable import ChappieCommand

private func signIn(_ words: String...) throws(UsageError) -> ChappieTestServer.SignIn {
    try ServeOptions(ArgumentParser(ServeCommand.syntax).parse(words)).configuration.signIn
}

@Suite struct ServeSignInTests {
    @Test func browserApprovalPageIsOffByDefault() throws {
        let usual = try signIn()
        #expect(usual.pendingPollCount == 1)
        #expect(usual.approvesBrowsers)
        #expect(try signIn("--pending", "0").pendingPollCount == 0)
        #expect(try signIn("--pending", "3").approvesBrowsers)
        let asking = try signIn("--pending", "page")
        #expect(asking.pendingPollCount == nil)
        #expect(!asking.approvesBrowsers)
    }

    @Test(arguments: ["-1", "1.5", "pages", ""])
    func pendingIsANumberOrThePage(_ text: String) {
        let message = "option --pending needs a whole number of at least 0, or 'page', not '\(text)'"
        #expect(throws: UsageError(message)) { try signIn("--pending=\(text)") }
    }

    @Test func tokenLifetimeIsFromZeroToOneYear() throws {
        #expect(try signIn().accessTokenLifetime == 3_600)
        #expect(try signIn("--token-lifetime", "0").accessTokenLifetime == 0)
        #expect(try signIn("--token-lifetime", "31536000").accessTokenLifetime == 31_536_000)
        for text in ["-1", "31536001", "an hour"] {
            #expect(throws: UsageError.self) { try signIn("--token-lifetime=\(text)") }
        }
    }

    @Test func requestsAreGuardedWhenAskedFor() throws {
        #expect(try !signIn().guardsRequests)
        #expect(try signIn("--guard").guardsRequests)
    }

    @Test(arguments: [["--pending", "page"], ["--token-lifetime", "5"], ["--guard"]])
    func signInOptionsAreRefusedWithAnUpstream(_ words: [String]) {
        #expect(throws: UsageError("option \(words[0]) is for the test server, not for --upstream")) {
            try ServeOptions(ArgumentParser(ServeCommand.syntax).parse(["--upstream", "127.0.0.1:9"] + words))
        }
    }
}
