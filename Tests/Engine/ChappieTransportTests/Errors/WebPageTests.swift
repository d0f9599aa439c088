// Web pages of intermediaries: they affect the text of an error, never the recovery.
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieTransport

@Suite struct WebPageTests {
    private static let cloudflare = """
        <!DOCTYPE html>
        <html><head><title>Attention Required! | Cloudflare</title></head>
        <body><h1>Sorry, you have been blocked</h1></body></html>
        """

    @Test(arguments: [
        "<!DOCTYPE html><p>", "<!doctype HTML>", "\u{FEFF}<html>", " \r\n\t<HTML lang=de>", "<head>", "<body>x",
        "<!-- x --><html>", "<title>Sign in", "<script>location='x'</script>",
    ])
    func aBodyThatBeginsLikeHTMLIsAPage(body: String) {
        #expect(WebPage(body) == .other)
        let error = ChappieClientError.httpError(403, body)
        #expect(
            error.safeDescription
                == "The server answered with status code 403, and with a web page: something between here and the "
                + "server answered in its place. Check the address, and open it in a browser: a captive portal, a "
                + "proxy or a sign-in page may stand in between.")
    }

    @Test func aBlockOfCloudflareIsNamed() {
        #expect(WebPage(Self.cloudflare) == .cloudflareBlock)
        let sentence = ChappieClientError.httpError(403, Self.cloudflare).safeDescription
        #expect(sentence.contains("Cloudflare") && sentence.contains("blocks") && sentence.contains("VPN"))
        #expect(!sentence.contains("Attention Required"))
    }

    @Test(arguments: ["", "{}", #"{"error":{"message":"<html>"}}"#, "html", "<", "<xml>", "upstream error <html>"])
    func otherBodiesAreNotWebPages(body: String) {
        #expect(WebPage(body) == nil)
        #expect(
            ChappieClientError.httpError(403, body).safeDescription
                == "The server answered with status code 403. Ask for access, or use another account.")
    }

    @Test(arguments: [403, 404, 429, 500, 503], ["<html>", Self.cloudflare])
    func webPageBodyChangesOnlyTheDescription(status: Int, page: String) {
        let plain = ChappieClientError.httpError(status, "")
        let error = ChappieClientError.httpError(status, page)
        #expect(error.tag == plain.tag && error.category == plain.category)
        #expect(error.retryGuidance == plain.retryGuidance && error.requiresUserAction == plain.requiresUserAction)
        #expect(error.shouldReport == plain.shouldReport && error.unsafeMessage == page)
    }

    @Test(arguments: [
        ("text/html", true), ("Text/HTML; charset=utf-8", true), ("application/xhtml+xml", true),
        ("text/htmlx", false), ("application/json", false), ("", false),
    ])
    func htmlContentTypesAreWebPages(value: String, isPage: Bool) {
        #expect(WebPage.isContentType(value) == isPage)
        #expect(!WebPage.isContentType(nil))
    }

    /// A captive portal answers all requests with 200 and a page.
    @Test(arguments: [("text/html; charset=utf-8", true), ("text/plain", false)])
    func webPageInPlaceOfTheStreamIsReported(contentType: String, isPage: Bool) async {
        let fixture = TurnFixture([
            [.opened(200, fields: ["content-type": contentType]), .body("<html>"), .ended(.complete)]
        ]) { $0.policy = .httpSSEOnly }
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .unexpectedContentType)
        #expect((outcome.transportFailure?.details.detail == "web-page") == isPage)
        #expect(outcome.clientError?.safeDescription.contains("a web page answered") == isPage)
        #expect(outcome.clientError?.safeDescription.contains("captive portal") == isPage)
        #expect(outcome.clientError?.category == .server)
    }
}
