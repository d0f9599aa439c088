// The error of `chappie stream` about an invalid proxy.
import Chappie
import Foundation
import Testing

@testable import ChappieCommand

@Suite struct ProxyOutputTests {
    private static let password = "canary-password-0dd5"

    private static func error(of handle: ChappieStreamHandle) async -> (any Error)? {
        do {
            for try await _ in handle.events {}
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "socks4://u:PASSWORD@h:1", "socks5://u:PASSWORD@h:0", "https://u:PASSWORD@", "PASSWORD://h:1",
        "http://u:PASSWORD@h:0", "http://u:%-PASSWORD@h:1",
        "http://u:PASSWORD@h:1/PASSWORD", "http://u:PASSWORD@", "u:PASSWORD", "http://u:%00PASSWORD@h",
    ])
    func invalidProxyURLIsNotPrintedInItsError(_ url: String) async throws {
        let url = url.replacingOccurrences(of: "PASSWORD", with: Self.password)
        let arguments = try ArgumentParser(StreamCommand.syntax).parse([
            "hi", "--base-url", "http://127.0.0.1:1/v1", "--proxy", url,
        ])
        let options = try StreamOptions(arguments, environment: [:])
        let address = try #require(URL(string: "http://127.0.0.1:1/v1"))
        let handle = Chappie.client(configuration: options.configuration(baseURL: address))
            .streamHandle(options.request)
        let error = try #require(await Self.error(of: handle))
        let failure = StreamFailure(error, report: handle.report, proof: .none)
        var json = StreamJSONPrinter()
        var text = StreamTextPrinter(
            terminals: .init(output: false, errorOutput: false), style: TerminalStyle(isColored: false))
        for printed in [json.printed(failure), text.printed(failure)] {
            #expect(!(printed.output + printed.errorOutput).isEmpty)
            #expect(!(printed.output + printed.errorOutput).contains(Self.password))
        }
        #expect(failure.status == .usage)
    }
}
