import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// `chappie stream` where no connection can be opened, whatever the network does.
///
/// A library that is loaded before all others takes the place of functions of the system.
@Suite(.timeLimit(.minutes(10))) struct CommandEnvironmentTests {
    /// An environment, and the text of the error in it.
    struct Environment: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// C: the functions that are replaced.
        let source: String
        let problem: String
        let advice: String
        let mayTryAgain: Bool
    }

    private static let adviceAboutSockets =
        "The network is not at fault: check what the sandbox allows, and the libraries: "
    private static let adviceAboutLimits =
        "Check the limits of threads and memory (ulimit -u, ulimit -v), and the libraries: "

    private static let environments = [
        Environment(
            testDescription: "no sockets",
            source: """
                int socket(int family, int type, int protocol) {
                    int (*next)(int, int, int) = dlsym(RTLD_NEXT, "socket");
                    if (family != AF_INET && family != AF_INET6) return next(family, type, protocol);
                    errno = EPERM;
                    return -1;
                }
                """,
            problem: "No socket could be opened",
            advice: Self.adviceAboutSockets, mayTryAgain: false),
        Environment(
            testDescription: "no service thread",
            source: """
                typedef void *(*entry)(void *);
                int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, entry start, void *argument) {
                    int (*next)(pthread_t *, const pthread_attr_t *, entry, void *) = dlsym(RTLD_NEXT, "pthread_create");
                    // The command has looked on the main thread whether there is room for threads.
                    int is_possible = attributes || gettid() == getpid();
                    return is_possible ? next(thread, attributes, start, argument) : EAGAIN;
                }
                """,
            problem: "The service thread could not be started",
            advice: Self.adviceAboutLimits, mayTryAgain: true),
        Environment(
            testDescription: "no event loop",
            source: "void *lws_create_context(const void *information) { return NULL; }",
            problem: "libwebsockets' event loop could not be started",
            advice: Self.adviceAboutLimits, mayTryAgain: true),
    ]

    /// Makes a library of the functions; its path.
    private static func library(_ source: String, in program: CommandProgram) async throws -> String {
        let head = """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <pthread.h>
            #include <stdlib.h>
            #include <sys/socket.h>
            #include <unistd.h>

            """
        let file = try program.home.write(head + source, to: "replaced.c")
        let library = program.home.path(of: "replaced.so")
        let compiling = try await ChildProcess.run(
            "/usr/bin/cc", ["-shared", "-fPIC", "-w", "-o", library, file, "-ldl"], input: "", environment: [:])
        try #require(compiling.status == 0, "cc is missing: run Scripts/install.sh test")
        return library
    }

    /// libdispatch waits for ever for a thread that the system refuses.
    @Test(
        arguments: [
            ["stream", "--demo", "hi"], ["ws", "ws://127.0.0.1:9"], ["events", "http://127.0.0.1:9"], ["serve"],
            ["serve", "--list-scenarios"], ["logout"], ["usage"],
        ])
    func processWithoutThreadsEndsAtOnce(words: [String]) async throws {
        let program = try CommandProgram()
        let source =
            "int pthread_create(pthread_t *a, const pthread_attr_t *b, void *(*c)(void *), void *d) { return EAGAIN; }"
        let outcome = try await program.run(
            script: #"LD_PRELOAD="$LIBRARY" exec "$0" "$@" 2>"$CHAPPIE_HOME/errors""#, words,
            environment: ["LIBRARY": try await Self.library(source, in: program)])
        #expect(outcome.status == 69)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errorOutput.contains("memory.exhausted"), "\(outcome.errorOutput)")
    }

    @Test(arguments: Self.environments)
    func environmentThatCannotConnectFailsAsUnavailable(_ environment: Environment) async throws {
        let program = try CommandProgram()
        let library = try await Self.library(environment.source, in: program)
        let report = program.home.path(of: "report.json")
        let outcome = try await program.run(
            script: #"LD_PRELOAD="$LIBRARY" exec "$0" "$@" 2>"$CHAPPIE_HOME/errors""#,
            [
                "stream", "--base-url", program.server.baseURL, "--model", "m", "--connect-timeout", "0.5", "--report",
                report, "hi",
            ], environment: ["LIBRARY": library])

        #expect(outcome.status == 69)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errorOutput.contains(environment.problem), "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains(environment.advice), "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("may succeed later") == environment.mayTryAgain)
        for (name, version) in ChappieLinkedLibraries.versions {
            #expect(outcome.errorOutput.contains("\(name) \(version)"), "\(outcome.errorOutput)")
        }
        #expect(program.server.log.isEmpty)

        let written = try JSONDecoder().decode(
            ChappieStreamReport.self, from: Data(contentsOf: URL(fileURLWithPath: report)))
        #expect(written.attempts.map(\.outcome) == ["unavailable"])
        #expect(written.libraries?["libwebsockets"]?.isEmpty == false)
    }
}
