// Servers that are connected to without a proxy.
import StreamTransport
import Testing

@Suite struct ProxyExceptionsTests {
    struct Example: Sendable, CustomTestStringConvertible {
        let list: String
        let host: String
        let isDirect: Bool
        let port: UInt16

        init(_ list: String, _ host: String, _ isDirect: Bool, port: UInt16 = 443) {
            (self.list, self.host, self.isDirect, self.port) = (list, host, isDirect, port)
        }

        var testDescription: String { "'\(self.list)' \(self.host) \(self.port)" }
    }

    private static func expect(_ example: Example) {
        let contains = ProxyExceptions(example.list).contains(host: example.host, port: example.port)
        #expect(contains == example.isDirect)
    }

    @Test(arguments: [
        Example("", "example.com", false), Example(",", "example.com", false), Example(" , ,", "example.com", false),
        Example("*", "example.com", true), Example("*", "127.0.0.1", true), Example("*", "::1", true),
        Example("a, *", "example.com", true), Example("*:443", "example.com", true),
        Example("*:443", "example.com", false, port: 80),
    ])
    func asteriskMatchesEveryHost(_ example: Example) { Self.expect(example) }

    @Test(arguments: [
        Example("example.com", "example.com", true), Example("example.com", "www.example.com", true),
        Example("example.com", "a.b.example.com", true), Example("example.com", "notexample.com", false),
        Example("example.com", "example.com.evil.org", false), Example("example.com", "example.org", false),
        Example("example.com", "com", false), Example(".example.com", "example.com", true),
        Example(".example.com", "www.example.com", true), Example(".example.com", "notexample.com", false),
        Example("*.example.com", "www.example.com", true), Example("*.example.com", "notexample.com", false),
        Example("EXAMPLE.com", "Example.COM", true), Example("example.com.", "example.com", true),
        Example("example.com", "example.com.", true), Example(".", "example.com", false),
        Example("localhost", "localhost", true), Example("localhost", "127.0.0.1", false),
        Example("exam*.com", "example.com", false), Example("http://example.com", "example.com", false),
    ])
    func nameMatchesItsSubdomains(_ example: Example) { Self.expect(example) }

    @Test(arguments: [
        Example("a.com,b.com", "b.com", true), Example("a.com , b.com", "a.com", true),
        Example("a.com , b.com", "b.com", true), Example(" a.com\t,\tb.com ", "b.com", true),
        Example("a.com b.com", "b.com", true), Example("a.com,,b.com", "b.com", true),
        Example("[,a.com", "a.com", true), Example("a.com,b.com", "c.com", false),
    ])
    func entriesAreSeparated(_ example: Example) { Self.expect(example) }

    @Test(arguments: [
        Example("example.com:443", "example.com", true), Example("example.com:443", "www.example.com", true),
        Example("example.com:443", "example.com", false, port: 8443), Example("example.com:0", "example.com", false),
        Example("example.com:", "example.com", false), Example("example.com:x", "example.com", false),
        Example("example.com:+443", "example.com", false), Example("example.com:65979", "example.com", false),
        Example("10.0.0.1:443", "10.0.0.1", true), Example("10.0.0.1:443", "10.0.0.1", false, port: 80),
        Example("[::1]:443", "::1", true), Example("[::1]:443", "::1", false, port: 80),
        Example("10.0.0.0/8:443", "10.1.1.1", true), Example("10.0.0.0/8:443", "10.1.1.1", false, port: 80),
    ])
    func entryWithAPortMatchesOnlyThatPort(_ example: Example) { Self.expect(example) }

    @Test(arguments: [
        Example("10.0.0.1", "10.0.0.1", true), Example("10.0.0.1", "10.0.0.10", false),
        Example("0.0.1", "10.0.0.1", false), Example("1", "10.0.0.1", false), Example("10.0.0.1", "a.10.0.0.1", false),
        Example("::1", "::1", true), Example("[::1]", "::1", true), Example("0:0:0::1", "::1", true),
        Example("2001:DB8::1", "2001:db8:0:0::1", true), Example("::1", "::2", false),
        Example("::ffff:10.0.0.1", "10.0.0.1", true), Example("10.0.0.1", "::ffff:10.0.0.1", true),
    ])
    func addressesAreComparedAsAddresses(_ example: Example) { Self.expect(example) }

    @Test(arguments: [
        Example("10.0.0.0/8", "10.255.0.1", true), Example("10.0.0.0/8", "11.0.0.1", false),
        Example("10.1.2.3/8", "10.9.9.9", true), Example("192.168.1.0/25", "192.168.1.127", true),
        Example("192.168.1.0/25", "192.168.1.128", false), Example("192.168.1.128/25", "192.168.1.200", true),
        Example("10.0.0.1/32", "10.0.0.1", true), Example("10.0.0.1/32", "10.0.0.0", false),
        Example("10.0.0.0/31", "10.0.0.1", true), Example("0.0.0.0/0", "203.0.113.9", true),
        Example("0.0.0.0/0", "::1", false), Example("0.0.0.0/0", "example.com", false),
        Example("10.0.0.0/33", "10.0.0.0", false), Example("10.0.0.0/-1", "10.0.0.0", false),
        Example("10.0.0.0/+8", "10.0.0.0", false), Example("10.0.0.0/", "10.0.0.0", false),
        Example("10.0.0.0/8/8", "10.0.0.0", false), Example("10/8", "10.0.0.0", false),
        Example("fd00::/8", "fdff::1", true), Example("fd00::/8", "fe00::1", false),
        Example("2001:db8::/33", "2001:db8:7fff::1", true), Example("2001:db8::/33", "2001:db8:8000::1", false),
        Example("[fd00::]/8", "fd12::1", true), Example("::/0", "2001:db8::1", true),
        Example("::1/128", "::1", true), Example("::1/129", "::1", false),
        Example("::ffff:10.0.0.0/104", "10.1.1.1", true), Example("::ffff:10.0.0.0/104", "11.1.1.1", false),
        Example("::ffff:10.0.0.0/95", "10.0.0.0", false), Example("10.0.0.0/8", "::ffff:10.1.1.1", true),
        Example("fd00::/8:443", "fd00::1", true), Example("fd00::/8:443", "fd00::1", false, port: 80),
    ])
    func blocksHoldTheirAddresses(_ example: Example) { Self.expect(example) }

    /// A length says how many bits count, at every length of both families.
    @Test func onlyBitsWithinThePrefixLengthAreCompared() {
        for length in 1...32 {
            let last = UInt32(1) << (32 - UInt32(length))
            let inside = Self.address(last ^ last >> 1)
            #expect(ProxyExceptions("\(Self.address(last))/\(length)").contains(host: inside, port: 1), "/\(length)")
            #expect(!ProxyExceptions("0.0.0.0/\(length)").contains(host: Self.address(last), port: 1), "/\(length)")
        }
        for length in 1...128 {
            let (group, bit) = ((length - 1) / 16, (length - 1) % 16)
            var groups = [UInt16](repeating: 0, count: 8)
            groups[group] = 0x8000 >> UInt16(bit)
            let host = groups.map { String($0, radix: 16) }.joined(separator: ":")
            #expect(ProxyExceptions("\(host)/\(length)").contains(host: host, port: 1), "/\(length)")
            #expect(!ProxyExceptions("::/\(length)").contains(host: host, port: 1), "/\(length)")
            #expect(ProxyExceptions("::/\(length - 1)").contains(host: host, port: 1), "/\(length)")
        }
    }

    private static func address(_ bits: UInt32) -> String {
        stride(from: 24, through: 0, by: -8).map { String(bits >> UInt32($0) & 0xFF) }.joined(separator: ".")
    }
}
