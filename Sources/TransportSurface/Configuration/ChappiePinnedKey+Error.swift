public import StreamTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// The module of the type does not import Foundation.
extension ChappiePinnedKey.ParseError: LocalizedError {}
