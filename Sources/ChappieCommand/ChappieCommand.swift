// The program's entry: arguments and environment in, exit code out.
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The program `chappie`.
@main
struct ChappieCommand {
    /// Runs the command that the arguments name.
    static func main() async {
        // A closed pipe is an error of `write`, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        let environment = ProcessInfo.processInfo.environment
        let dispatch = CommandDispatch(environment: environment, console: Console(environment: environment))
        let words = Array(CommandLine.arguments.dropFirst())
        // Streams are read off the main actor: a hop for every element would cost more than the element.
        let status = await Task.detached { await dispatch.run(words) }.value
        exit(status.rawValue)
    }
}
