// Reports a broken invariant of a fuzz target, also where optimisation removes a precondition's words.

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Ends the process unless a condition holds, with a description of the failure.
///
/// libFuzzer writes the input to a file when the process is ended in this way.
@inline(__always)
public func require(_ holds: Bool, _ words: @autoclosure () -> String) {
    if !holds { breakInvariant(words()) }
}

/// Ends the process.
@inline(never)
public func breakInvariant(_ words: String) -> Never {
    let line = "broken: \(words)\n"
    line.withCString { text in _ = write(STDERR_FILENO, text, strlen(text)) }
    abort()
}
