// Invariant: whatever header fields a server sends, reading usage limits and delays from them does not trap, stays in
// range (0 to a year; no negative time, no number that is not finite), and agrees with a plain reading: the C library's
// numbers and calendar, a linear search for every field. Reading a result again, or merging it twice, has no effect.
//
// Every section is read, and its results are in range; the plain reading sees a share.

import Invariants
import ResponseEvents

/// Called by libFuzzer for each input.
///
/// The input is a header section, one field a line. The field `now` is the time in seconds since 1970, and `message`
/// the words of an error.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTPFields(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    var random = InputHash(input)
    let section = FieldSection(input)
    guard FuzzDepth.reachesModels(random) else {
        DelayCheck(section).runBare()
        UsageLimitCheck(section).runBare()
        return 0
    }
    DelayCheck(section).run(&random)
    UsageLimitCheck(section).run()
    return 0
}

/// The fields of an input.
struct FieldSection {
    /// The fields, in order.
    private(set) var fields: [(name: String, value: String)] = []

    /// Takes fields as they are.
    init(_ fields: [(name: String, value: String)]) { self.fields = fields }

    /// Cuts an input into fields; a line without a colon is a name without a value.
    init(_ input: UnsafeRawBufferPointer) {
        for line in input.split(separator: 0x0A) {
            let colon = line.firstIndex(of: 0x3A) ?? line.endIndex
            let value = line[colon...].dropFirst()
            self.fields.append(
                (String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self)))
        }
    }

    /// The time that the input says it is.
    var now: Int { self.values(named: "now").first.flatMap(PlainText.integer) ?? 0 }

    /// Indicates whether a plain reading can compare bytes: names that are not ASCII have cases and equivalents of
    /// their own.
    var hasPlainNames: Bool { self.fields.allSatisfy { $0.name.utf8.allSatisfy { $0 < 0x80 } } }

    /// The values of all fields with a name, without the space around them.
    func values(named name: String) -> [String] {
        self.fields.filter { PlainText.lowercase($0.name) == name }.map { PlainText.trim($0.value) }
    }
}
