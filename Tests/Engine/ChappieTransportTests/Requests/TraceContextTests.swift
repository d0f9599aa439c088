// W3C Trace Context, level 1: the fields that are sent, and those that are not.
import Testing

@testable import ChappieTransport

@Suite struct TraceContextTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test func validTraceContextIsUnchanged() throws {
        let context = try #require(ChappieTraceContext(traceparent: Self.parent, tracestate: "congo=t61rcWkgMzE"))
        #expect(context.traceparent == Self.parent)
        #expect(context.tracestate == "congo=t61rcWkgMzE")
    }

    @Test(arguments: [
        "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nX: y",
        " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319é-b7ad6b7169203331-01",
    ])
    func malformedTraceparentIsRefused(text: String) {
        #expect(ChappieTraceContext(traceparent: text) == nil)
    }

    @Test(arguments: [
        ("a=b", true), (String(repeating: "x", count: 512), true), ("", false), ("a=\r\n", false),
        (String(repeating: "x", count: 513), false), ("a=é", false), ("a=\u{7F}", false),
    ])
    func aStateThatCannotBeSentIsLeftOut(state: String, isKept: Bool) {
        let context = ChappieTraceContext(traceparent: Self.parent, tracestate: state)
        #expect(context?.tracestate == (isKept ? state : nil))
        #expect(context?.traceparent == Self.parent)
    }
}
