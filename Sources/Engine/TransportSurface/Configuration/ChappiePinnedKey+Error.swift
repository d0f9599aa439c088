public import PlatformFoundation
public import StreamTransport

// The module of the type does not import Foundation.
extension ChappiePinnedKey.ParseError: LocalizedError {}
