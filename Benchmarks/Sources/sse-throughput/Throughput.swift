// Measures the speed at which the parser turns bytes into events, and checks the events.

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The command.
@main
struct Throughput {
    static func main() {
        do {
            exit(try self.run(Options(CommandLine.arguments.dropFirst())) ? 0 : 1)
        } catch let error as UsageError {
            self.complain("\(error.message)\n\(Options.usage)")
            exit(2)
        } catch {
            self.complain("\(error)")
            exit(1)
        }
    }

    private static func complain(_ text: String) {
        Array("sse-throughput: \(text)\n".utf8).withUnsafeBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Runs the command; returns whether it succeeded.
    private static func run(_ options: Options) throws -> Bool {
        switch options.command {
        case .measure:
            try SelfCheck.run()
            return try MeasureCommand(options: options).run()
        case .selfCheck:
            try SelfCheck.run()
            print("The generators, a literal reader and the parser agree.")
        case .writeCorpus(let folder):
            try CorpusFiles.write(options.corpora.isEmpty ? Corpus.allCases : options.corpora, to: folder)
        case .iterate(let passCount):
            guard let workload = options.workloads.first else { return false }
            try IterateCommand(workload: workload, passCount: passCount).run()
        }
        return true
    }
}
