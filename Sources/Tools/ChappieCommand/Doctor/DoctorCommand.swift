// `chappie doctor`: the examination of the path to a server.
import Chappie
import ChappieDiagnosis
import ChappieTransport

/// Examines the path, and prints the verdict.
struct DoctorCommand {
    /// The console for the output.
    let console: Console
    /// The process's environment.
    let environment: [String: String]

    /// Examines once.
    func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let account =
            DoctorOptions.usesAccount(arguments, environment: self.environment)
            ? try SignInOptions.account(arguments, environment: self.environment) : nil
        let options = try DoctorOptions(arguments, environment: self.environment, account: account)
        if self.console.terminals.errorOutput, options.form == .text {
            let hold = Int((options.holds.max() ?? .zero).components.seconds)
            let limit = (options.extent == .fast ? 5 : 20) + (hold > 0 ? hold + 15 : 0)
            self.console.note(self.console.errorStyle.dim("examining, for at most \(limit) s"))
        }
        let report: ChappieDiagnosis.Report
        do {
            report = try await InterruptibleWork.run {
                try await ChappieDiagnosis.run(
                    options.configuration, extent: options.extent, holds: options.holds)
            }
        } catch let error as ChappieArgumentError {
            throw UsageError(error.safeDescription)
        }
        switch options.form {
        case .text: try self.console.write(self.printer(options).text(report))
        case .json: try self.console.write(DoctorJSON.line(report, isFull: options.isFull))
        case .suggestion: try self.console.write(DoctorSuggestion.text(report))
        }
        return ExitCode(report.verdict)
    }

    private func printer(_ options: DoctorOptions) -> DoctorPrinter {
        DoctorPrinter(
            style: self.console.outputStyle,
            width: self.console.terminals.output ? self.console.output.columnCount ?? 80 : 80,
            isUTF8: self.console.isUTF8, isFull: options.isFull, subject: options.subject)
    }
}

extension ExitCode {
    /// Creates the exit code of a verdict.
    init(_ verdict: ChappieDiagnosis.Verdict) {
        self =
            switch verdict {
            case .works: .success
            case .degraded: .tryLater
            case .fails: .unavailable
            }
    }
}
