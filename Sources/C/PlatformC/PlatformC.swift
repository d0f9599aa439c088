// The system's C library, under one name on every system.

#if canImport(Darwin)
    @_exported public import Darwin
#else
    @_exported public import Glibc
#endif
