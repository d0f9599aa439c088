// Invariant: whatever a proxy sends, and however it is split, the greeting ends in the same way, after the same byte,
// and has sent the same bytes. It reads every byte until its outcome is known and none after it, so that the first
// bytes of the tunnel are left. SOCKS means what RFC 1928 and 1929 say, read over the whole; a tunnel by CONNECT stands
// only behind the header section of a successful answer.
//
// Every greeting is read whole and in pieces; the specifications, and the other pieces, see a share.

import Invariants
import StreamTransport

/// Called by libFuzzer for each input.
///
/// The first byte has the proxy's kind and whether there is a login; the rest comes from the proxy.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzProxyGreeting(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    var random = InputHash(input)
    var reader = InputReader(input)
    let check = GreetingCheck(&reader)
    if FuzzDepth.reachesModels(random) { check.run(&random) } else { check.runBare(&random) }
    return 0
}
