// Character references in the text of a page.
import Testing
import TransportSurface

@testable import ChappieTransport

@Suite struct HTMLReferencesTests {
    private static func text(_ text: String) -> String {
        String(decoding: HTMLReferences(in: Array(text.utf8)).bytes, as: UTF8.self)
    }

    @Test(arguments: [
        ("", ""), ("a & b", "a & b"), ("&", "&"), ("a&amp;b", "a&b"), ("&amp;amp;", "&amp;"),
        ("&lt;&gt;&quot;", "<>\""),
        ("&mdash;&hellip;", "—…"), ("&#39;&#x27;&#X2f;", "''/"), ("&#8211;&#x1F600;", "–😀"), ("&#45", "-"),
        ("&#45x", "-x"),
        ("&#x2D&#45;", "--"), ("&#0;&#xD800;&#x110000;&#99999999999;", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
        ("&#;&#x;&#", "&#;&#x;&#"), ("&amp", "&amp"), ("&AMP;&nosuch;", "&AMP;&nosuch;"),
        ("&averyverylongname;", "&averyverylongname;"),
        ("é&eacute;é", "é&eacute;é"),
    ])
    func referencesStandForTheirScalars(text: String, decoded: String) {
        #expect(Self.text(text) == decoded)
    }

    @Test func decodedBytesHaveTheOffsetOfTheirReference() {
        let references = HTMLReferences(in: Array("a&#8211;b&amp".utf8))
        #expect(references.bytes == [0x61, 0xE2, 0x80, 0x93, 0x62, 0x26, 0x61, 0x6D, 0x70])
        #expect(references.starts == [0, 1, 1, 1, 8, 9, 10, 11, 12, 13])
    }
}
