// The program's entry: arguments and environment in, exit code out.
import ChappieTransport
import Dispatch
import PlatformC
import PlatformFoundation

/// The program `chappie`.
@main
struct ChappieCommand {
    /// Runs the command that the arguments name.
    ///
    /// It is not asynchronous itself, because the runtime of asynchronous functions opens descriptors and starts threads:
    /// commands that need none, such as `chappie sse`, run at once, with any limits of the process.
    static func main() {
        Self.openStandardDescriptors()
        // A closed pipe is an error of `write`, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        // Swift's runtime would take the user's quit signal for a crash, print registers and continue.
        signal(SIGQUIT, SIG_DFL)
        let environment = ProcessInfo.processInfo.environment
        let dispatch = CommandDispatch(environment: environment, console: Console(environment: environment))
        switch dispatch.begin(Array(CommandLine.arguments.dropFirst())) {
        case .ended(let status): exit(status.rawValue)
        case .asynchronous(let run):
            // Streams are read off the main actor: a hop for every element would cost more than the element.
            Task.detached {
                let status = await dispatch.finish(run)
                await ChappieStreamingTransport.finishClosing()
                exit(status.rawValue)
            }
            dispatchMain()
        }
    }

    /// Opens standard input, output and error where the parent process has closed them.
    ///
    /// Otherwise the next file or socket would get the number of one of them, and its output.
    private static func openStandardDescriptors() {
        // A new descriptor has the lowest free number (POSIX, open).
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            _ = unsafe open("/dev/null", O_RDWR)
        }
    }
}
