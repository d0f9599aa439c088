// The part of Foundation without locales and formatting, under one name on every system; on Apple's systems it is all
// of Foundation.

#if canImport(FoundationEssentials)
    @_exported public import FoundationEssentials
#else
    @_exported public import Foundation
#endif
