// Invariant: what a client or a Redis server sends to a relay is the same however it is split: the same requests with
// their bodies, frames with their messages, or values, and the same error. Plain readers of RFC 9112, RFC 6455 and
// RESP2 that see all bytes at once agree.
//
// Every input is read whole and cut once; the plain readers, and the other pieces, see a share.

import Invariants

/// Called by libFuzzer for each input.
///
/// The first byte chooses the protocol; the rest is what the peer sends.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRelay(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    var random = InputHash(input)
    var reader = InputReader(input)
    switch reader.choice(of: 3) {
    case 0: compare(RequestCourse.self, Array(reader.rest), &random)
    case 1: compare(FrameCourse.self, Array(reader.rest), &random)
    default: compare(ValueCourse.self, Array(reader.rest), &random)
    }
    return 0
}

/// The results of reading a peer's bytes.
protocol Course: Equatable {
    /// Reads pieces one after the other.
    init(reading pieces: [ArraySlice<UInt8>])

    /// Holds the results against a plain reading of all bytes.
    func check(against bytes: [UInt8])
}

private func compare<Reading: Course>(_: Reading.Type, _ bytes: [UInt8], _ random: inout InputHash) {
    let whole = Reading(reading: [bytes[...]])
    func compare(_ pieces: [ArraySlice<UInt8>], _ words: @autoclosure () -> String) {
        let course = Reading(reading: pieces)
        require(course == whole, "\(words()) it is \(course), and whole \(whole)")
    }
    let cut = Int.random(in: 0...bytes.count, using: &random)
    compare([bytes[..<cut], bytes[cut...]], "cut at \(cut)")
    guard FuzzDepth.reachesModels(random) else { return }
    whole.check(against: bytes)
    compare(bytes.indices.map { bytes[$0...$0] }, "byte by byte")
    var pieces: [ArraySlice<UInt8>] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = Int.random(in: 0...9, using: &random)
        pieces.append(rest.prefix(count))
        rest = rest.dropFirst(count)
    }
    compare(pieces, "in pieces of up to 9")
}
