// The arguments, the environment and the file of the commands for accounts.
import Chappie
import ChappieSignIn
import Foundation
import Testing

@testable import ChappieCommand

private let home = ["HOME": "/nowhere/home"]

private func readFile(_ text: String) throws(UsageError) -> SignInFile {
    try SignInFile(text: Array(text.utf8), path: "/etc/c.json")
}

private func options(
    _ words: [String], _ environment: [String: String] = [:], file text: String? = nil
) throws(UsageError) -> SignInOptions {
    let file: SignInFile? = if let text { try readFile(text) } else { nil }
    return try SignInOptions(ArgumentParser(LoginCommand.syntax).parse(words), environment: environment, file: file)
}

private func signIn(
    _ words: [String], file text: String? = nil
) throws(UsageError) -> ChappieSignInConfiguration {
    try options(["--client-id", "app"] + words, file: text).configuration(signingInWith: home).signIn
}

private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

/// The message of a usage error.
private func message(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch {
        return (error as? UsageError)?.message
    }
}

@Suite struct SignInFileTests {
    @Test func everyMemberIsRead() throws {
        let texts = SignInFile.Member.allCases.map { #""\#($0.rawValue)":"v-\#($0.rawValue)""# }
        let file = try readFile("{\(texts.joined(separator: ","))}")
        for member in SignInFile.Member.allCases { #expect(file[member] == "v-\(member.rawValue)") }
        #expect(SignInFile.Member.allCases.prefix(3).map(\.rawValue) == ["client_id", "issuer", "account"])
        #expect(try readFile("{}")[.clientID] == nil)
    }

    @Test(arguments: ["", "x", "[]", "\"a\"", "{", #"{"client_id":"a"}}"#])
    func textThatIsNotAnObjectIsRefused(text: String) {
        #expect(message { _ = try readFile(text) } == "/etc/c.json is not a JSON object")
    }

    @Test func bytesThatAreNotUTF8AreRefused() {
        #expect(throws: UsageError("/etc/c.json is not a JSON object")) {
            try SignInFile(text: [0x7B, 0xFF, 0x7D], path: "/etc/c.json")
        }
    }

    @Test func anUnknownMemberIsNamedWithTheNearest() {
        #expect(
            message { _ = try readFile(#"{"clientid":"a"}"#) }
                == "/etc/c.json: unknown member 'clientid'; did you mean 'client_id'?")
    }

    @Test(arguments: ["1", "null", "true", "[]", "{}", "\"\""])
    func aMemberOfAnotherTypeIsNamed(value: String) {
        #expect(
            message { _ = try readFile(#"{"issuer":\#(value)}"#) }
                == "/etc/c.json: member 'issuer' has to be a text that is not empty")
    }

    @Test(arguments: [
        (["CHAPPIE_HOME": "/a", "XDG_CONFIG_HOME": "/b", "HOME": "/c"], "/a/config.json"),
        (["CHAPPIE_HOME": "", "XDG_CONFIG_HOME": "/b", "HOME": "/c"], "/b/chappie/config.json"),
        (["XDG_CONFIG_HOME": "relative", "HOME": "/c"], "/c/.config/chappie/config.json"),
        (["HOME": "/c"], "/c/.config/chappie/config.json"),
    ])
    func signInFilePathFollowsTheFirstSetVariable(environment: [String: String], path: String) {
        #expect(SignInFile.path(environment) == path)
    }

    @Test func missingFileYieldsNoOptions() throws {
        #expect(try SignInFile.find(["CHAPPIE_HOME": "/nowhere/at/all"]) == nil)
    }

    @Test func configurationFileIsReadAndItsErrorsNameItsPath() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "chappie-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "config.json").path
        try #"{"client_id":"app"}"#.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try SignInFile.find(["CHAPPIE_HOME": folder.path])?[.clientID] == "app")
        try "{".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: UsageError("\(path) is not a JSON object")) {
            try SignInFile.find(["CHAPPIE_HOME": folder.path])
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: UsageError("cannot read \(path): Is a directory")) {
            try SignInFile.find(["CHAPPIE_HOME": folder.path])
        }
    }
}

@Suite struct SignInOptionsTests {
    @Test func clientIDIsTakenFromOptionThenEnvironmentThenFile() throws {
        let environment = ["CHAPPIE_CLIENT_ID": "environment"]
        let text = #"{"client_id":"file"}"#
        #expect(try options(["--client-id", "option"], environment, file: text).clientID == "option")
        #expect(try options([], environment, file: text).clientID == "environment")
        #expect(try options([], ["CHAPPIE_CLIENT_ID": ""], file: text).clientID == "file")
        #expect(try options([]).clientID == nil)
    }

    @Test func missingClientIDErrorNamesThreeSources() {
        let message = message { _ = try options([]).configuration(signingInWith: home) } ?? ""
        #expect(message.contains("none is built in"))
        for way in ["--client-id ID", "CHAPPIE_CLIENT_ID", "/nowhere/home/.config/chappie/config.json"] {
            #expect(message.contains(way))
        }
    }

    @Test func theAccountIsTheOptionsThenTheFilesThenDefault() throws {
        #expect(try options(["--account", "a.b-c_1"], file: #"{"account":"work"}"#).account == "a.b-c_1")
        #expect(try options([], file: #"{"account":"work"}"#).account == "work")
        #expect(try options([]).account == "default")
        #expect(try options(["--account", String(repeating: "a", count: 64)]).account.count == 64)
    }

    @Test(arguments: [".a", "a b", "a/b", "ä", "..", String(repeating: "a", count: 65), "a\n"])
    func aNameThatNoAccountCanHaveIsAUsageError(name: String) {
        #expect(message { _ = try options(["--account", name]) }?.hasPrefix("option --account: ") == true)
    }

    @Test func theFilesAccountIsNamedWithItsPlace() {
        #expect(
            message { _ = try options([], file: #"{"account":"a b"}"#) }?
                .hasPrefix("/etc/c.json: member 'account': ") == true)
    }

    @Test func theIssuerHasOpenAIsEndpoints() throws {
        #expect(try signIn([]).server == .openAI)
        #expect(try signIn(["--issuer", "https://i"]).server == .openAI(issuer: url("https://i")))
        #expect(try signIn([], file: #"{"issuer":"https://f"}"#).server == .openAI(issuer: url("https://f")))
        #expect(
            try signIn(["--issuer", "https://i"], file: #"{"issuer":"https://f"}"#).server
                == .openAI(issuer: url("https://i")))
        #expect(try signIn([]).callbackPorts == [1_455, 1_457])
    }

    @Test func aServerThatKeepsToTheStandardsIsNamedByItsEndpoints() throws {
        let signIn = try signIn(
            ["--issuer", "https://i", "--token-endpoint", "https://i/t", "--revocation-endpoint", "https://i/r"],
            file:
                #"{"device_authorization_endpoint":"https://i/d","authorization_endpoint":"https://i/a","scope":"x y"}"#
        )
        let server = try ChappieAuthorizationServer(
            issuer: url("https://i"), authorization: url("https://i/a"), token: url("https://i/t"),
            revocation: url("https://i/r"), deviceAuthorization: url("https://i/d"), scope: "x y")
        #expect(signIn.server == server)
        #expect(signIn.callbackPorts == [0])
    }

    @Test(arguments: [
        ["--token-endpoint", "https://i/t"], ["--issuer", "https://i", "--device-endpoint", "https://i/d"],
        ["--scope", "x"], ["--issuer", "https://i", "--revocation-endpoint", "https://i/r"],
    ])
    func halfAServerIsAUsageError(words: [String]) {
        #expect(message { _ = try options(words) }?.hasPrefix("a server with endpoints of its own needs --") == true)
    }

    @Test(arguments: ["http://example.com", "ftp://h", "h", "https://", "http://127.0.0.2", "file:///etc"])
    func anAddressThatIsNeitherSecureNorHereIsAUsageError(text: String) {
        #expect(message { _ = try options(["--issuer", text]) }?.hasPrefix("option --issuer needs a URL") == true)
    }

    @Test(arguments: ["http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:8080", "https://h:1/x"])
    func anAddressOnThisMachineNeedsNoTLS(text: String) throws {
        #expect(try signIn(["--issuer", text]).server.issuer.absoluteString == text)
    }

    @Test func trustProxyAndStoreArePassedOn() throws {
        let configuration = try options(
            ["--client-id", "app", "--ca-file", "/ca.pem", "--proxy", "http://p:1", "--store", "/tmp/s"]
        ).configuration(signingInWith: home)
        #expect(configuration.tls.trust == .file(path: "/ca.pem"))
        #expect(configuration.proxy == .url("http://p:1"))
        #expect((configuration.credentialStorage as? ChappieFileCredentialStorage)?.directory == "/tmp/s")
        #expect(configuration.signIn.clientID == "app")
        #expect(configuration.endpoint == .chatGPT)
    }

    @Test(arguments: ["--client-id", "--account", "--issuer", "--store"])
    func anEmptyValueIsAUsageError(option: String) {
        #expect(message { _ = try options([option, ""]) } == "option \(option) needs a value that is not empty")
    }

    @Test(arguments: [
        ("https://auth.openai.com", "https://chatgpt.com/backend-api/codex"),
        ("https://Auth.openai.com/", "https://chatgpt.com/backend-api/codex"),
        ("https://auth.openai.com:8443", "https://auth.openai.com:8443/backend-api/codex"),
        ("https://other/x", "https://other/x/backend-api/codex"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/backend-api/codex"),
    ])
    func tokenGoesToTheServerOfItsIssuer(issuer: String, address: String) throws {
        let stored = ChappieStoredCredential(
            accessToken: "a", refreshToken: "r", clientID: "app", issuer: issuer, refreshedAt: Date())
        let endpoint = try options(["--client-id", "app"]).configuration(of: "work", stored).endpoint
        #expect(endpoint.baseURL.absoluteString == address)
        #expect(endpoint.requiresAccountID == (endpoint.baseURL == ChappieEndpoint.chatGPT.baseURL))
    }

    @Test func aStoredCredentialBringsItsClientAndItsIssuer() throws {
        let stored = ChappieStoredCredential(
            accessToken: "a", refreshToken: "r", clientID: "theirs", issuer: "https://other", refreshedAt: Date())
        let signIn = try options(["--client-id", "app"], file: #"{"issuer":"https://f"}"#)
            .configuration(of: "work", stored).signIn
        #expect(signIn.clientID == "theirs")
        #expect(signIn.account == "work")
        #expect(signIn.server == .openAI(issuer: try url("https://other")))
    }

    @Test(arguments: ["{}", #"{"issuer":"https://f","token_endpoint":"https://f/t"}"#, #"{"issuer":"https://i"}"#])
    func aStoredCredentialBringsItsEndpoints(file: String) throws {
        var stored = ChappieStoredCredential(
            accessToken: "a", refreshToken: "r", clientID: "theirs", issuer: "https://i", refreshedAt: Date())
        stored.endpoints = .init(
            token: try url("https://i/theirs"), revocation: try url("https://i/revoke"), bodyCoding: .form)
        let server = try options([], file: file).configuration(of: "work", stored).signIn.server
        #expect(
            server
                == ChappieAuthorizationServer(
                    issuer: try url("https://i"), token: try url("https://i/theirs"),
                    revocation: try url("https://i/revoke")))
        stored.endpoints?.bodyCoding = .json
        #expect(try options([], file: file).configuration(of: "work", stored).signIn.server.bodyCoding == .json)
    }

    @Test func anIssuerThatTheFileDescribesKeepsItsEndpoints() throws {
        var stored = ChappieStoredCredential(
            accessToken: "a", refreshToken: "r", clientID: "theirs", issuer: "https://i", refreshedAt: Date())
        stored.endpoints = .init(token: try url("https://i/old"), revocation: nil, bodyCoding: .json)
        let server = try options([], file: #"{"issuer":"https://i","token_endpoint":"https://i/t"}"#)
            .configuration(of: "work", stored).signIn.server
        #expect(server.token == (try url("https://i/t")))
        #expect(server.deviceGrant == nil)
    }

    @Test func noOptionTakesAToken() {
        let syntaxes = [LoginCommand.syntax, LogoutCommand.syntax, WhoamiCommand.syntax, UsageCommand.syntax]
        let names = Set(syntaxes.flatMap(\.options).map(\.name))
        #expect(names.filter { $0.contains("token") } == ["token-endpoint"])
        for word in ["secret", "password", "key", "code", "verifier"] {
            #expect(!names.contains { $0.contains(word) })
        }
    }
}
