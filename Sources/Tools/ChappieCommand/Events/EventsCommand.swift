// `chappie events`: an event source on the terminal.
import Dispatch
import EventSource
import PlatformC
import PlatformFoundation
import Synchronization

/// Prints the events of a server.
struct EventsCommand {
    /// The console for the output.
    let console: Console

    /// Prints events to the end of the event source.
    func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        var options = try EventsOptions(arguments)
        let reportFile = try options.reportPath.map { path throws(UsageError) in try OutputFile(path: path) }
        if options.readsContent { options.request.body = try DescriptorReader.standardInput.readToEnd() }
        let patience = OutputPatience(limit: options.configuration.timeouts.total)
        let console = self.console.waiting { patience.error }
        let printer = EventsPrinter(
            printsJSON: options.printsJSON, terminals: console.terminals, style: console.errorStyle,
            width: console.errorWidth)
        let source = Self.source(options, printer, on: console)
        let watcher = SignalWatcher(interrupting: patience) { source.close() }
        let status = await self.print(
            source, printer, on: console, limit: options.maximumEventCount, wasInterrupted: { patience.isInterrupted })
        withExtendedLifetime(watcher) {}
        if status == .success { self.reportEnd(of: source, options.request, printer) }
        try reportFile?.finish(report: source.report)
        return status
    }

    /// Makes the event source, whose attempts are reported, and whose answers are printed where JSON is.
    private static func source(
        _ options: EventsOptions, _ printer: EventsPrinter, on console: Console
    ) -> EventSource {
        let made = Mutex(LoggedSource())
        var configuration = options.configuration
        configuration.log = { entry in
            if let line = printer.line(for: entry) { console.note(line) }
            guard entry.context == "connection", let response = made.withLock({ $0.source?.response }),
                let line = printer.line(
                    ofStatusCode: response.statusCode, fields: response.fields.map { ($0.name, $0.value) })
            else { return }
            // The write of the first event fails in the same way.
            try? console.write(line)
        }
        let source = EventSource(options.request, configuration: configuration)
        made.withLock { $0.source = source }
        return source
    }

    private func reportEnd(of source: EventSource, _ request: EventSourceRequest, _ printer: EventsPrinter) {
        let line = printer.line(
            ofEndAfter: request.method, statusCode: source.response?.statusCode, eventCount: source.report.eventCount)
        if let line { self.console.note(line) }
    }

    private func print(
        _ source: EventSource, _ printer: EventsPrinter, on console: Console, limit: Int?,
        wasInterrupted: () -> Bool
    ) async -> ExitCode {
        var printer = printer
        var count = 0
        do {
            for try await event in source {
                try console.write(printer.printed(event).output)
                count += 1
                if count == limit { break }
            }
            source.close()
            // A closed event source ends without an error.
            if wasInterrupted() { throw CancellationError() }
            if source.report.hasGivenUp { throw ReconnectionsUsedUpError() }
            return .success
        } catch let error as DescriptorError {
            source.close()
            guard error == .interrupted || error == .late else {
                return console.report(error, command: Self.syntax.name)
            }
            let failure = EventsFailure(error, attempts: source.report.attemptCount)
            // Standard output may end in the middle of an event, to which no other text belongs.
            self.console.note(String(printer.printed(failure).errorOutput.dropLast()))
            return failure.status
        } catch {
            let failure = EventsFailure(error, attempts: source.report.attemptCount)
            let text = printer.printed(failure)
            self.console.note(String(text.errorOutput.dropLast()))
            // A failure of this write could not be reported.
            if !text.output.isEmpty { try? console.write(text.output) }
            return failure.status
        }
    }
}

/// The event source, as its own log has it.
private struct LoggedSource {
    weak var source: EventSource?
}
