// Invariant: whatever the bytes and however they are split, the inflater of compressed messages and the decoder of HTTP
// content give what zlib gives in one call over the whole: the same bytes, as soon as they can be known, and the same
// end or error. Neither passes its limit by a byte, and a message above the limit stops with exactly as many bytes as
// allowed.
//
// Every input is inflated once within one limit; the other limits and pieces, and what can be known early, see a share.

import Deflate
import Invariants

/// Called by libFuzzer for each input.
///
/// The first bytes are settings, the rest is compressed data, or data that are compressed here.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzInflater(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    var random = InputHash(input)
    let isDeep = FuzzDepth.reachesModels(random)
    var reader = InputReader(input)
    if reader.byte() & 1 == 0 {
        MessageCheck(&reader).run(&random, isDeep: isDeep)
    } else {
        ContentCheck(&reader).run(&random, isDeep: isDeep)
    }
    return 0
}
