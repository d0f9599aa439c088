// Starting a program, found on PATH, in a process group of its own.
import PlatformC

/// A program, its arguments, and its descriptors.
struct ProgramStart {
    /// The program, found on `PATH` unless it has a slash, and its arguments.
    let words: [String]
    /// Its whole environment.
    let environment: [String: String]
    /// Its standard input; nil for this process's.
    var input: CInt?
    /// Its standard output; nil for this process's.
    var output: CInt?
    /// Its standard error; nil for this process's.
    var errorOutput: CInt?

    /// Creates a start of a program with the descriptors of this process.
    init(_ words: [String], environment: [String: String]) {
        self.words = words
        self.environment = environment
    }

    /// Starts the program; the caller waits for its end.
    func run() throws(DescriptorError) -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #else
            var actions = unsafe posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #endif
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        let places = [(self.input, STDIN_FILENO), (self.output, STDOUT_FILENO), (self.errorOutput, STDERR_FILENO)]
        for case (.some(let descriptor), let place) in places {
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, place)
        }
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // The program does not inherit this process's ignored and blocked signals.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGPIPE, SIGINT, SIGTERM] { unsafe sigaddset(&signals, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        var words = unsafe Self.pointers(self.words)
        var variables = unsafe Self.pointers(self.environment.map { "\($0.key)=\($0.value)" })
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var identifier: pid_t = 0
        let code = unsafe posix_spawnp(&identifier, self.words.first ?? "", &actions, &attributes, &words, &variables)
        guard code == 0 else { throw .failed(code: code) }
        return identifier
    }

    /// Returns copies, ended by a null pointer, for the system; the caller frees them.
    private static func pointers(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }
}
