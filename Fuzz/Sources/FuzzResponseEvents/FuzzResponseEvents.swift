// Invariant: to be written.

/// Called by libFuzzer for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzResponseEvents(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt { 0 }
