// Invariant: any bytes are the same response however they are split: the same head, content, end and error, and those
// of a plain reading of the whole. The content lies in the bytes that were read, and only the bytes between chunks
// change in the buffer. A request that is written has exactly the parts that it was made of, or it is refused.
//
// Every response is read whole and cut once; the plain reading, and the other pieces, see a share.

import HTTPProtocol
import Invariants

/// Called by libFuzzer for each input.
///
/// The first byte is settings: a request or a response, the request's method, whether it asks for an upgrade, and
/// whether the next five bytes are small limits. The rest is the response.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTPMessages(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    var random = InputHash(input)
    var reader = InputReader(input)
    let settings = reader.byte()
    let method = [RequestMethod.get, .post, .connect][Int(settings >> 1 & 3) % 3]
    guard settings & 1 == 0 else {
        RequestCheck(method: method, &reader).run()
        return 0
    }
    var limits = HTTPLimits()
    if settings & 16 != 0 {
        limits = HTTPLimits(
            headByteCount: Int(reader.byte()), fieldLineByteCount: Int(reader.byte()),
            fieldLineCount: reader.choice(of: 8),
            chunkLineByteCount: reader.choice(of: 16), trailerSectionByteCount: reader.choice(of: 32))
    }
    let check = ResponseCheck(
        Array(reader.rest), to: method, acceptsUpgrade: settings & 8 != 0, limits: limits)
    if FuzzDepth.reachesModels(random) { check.run(&random) } else { check.runBare(&random) }
    return 0
}
