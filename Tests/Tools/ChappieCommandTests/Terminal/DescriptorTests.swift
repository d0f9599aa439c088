// Unbuffered input and output on pipes.
import Foundation
import Synchronization
import Testing

@testable import ChappieCommand

@Suite struct DescriptorTests {
    @Test func writtenBytesAreReadWithAnyBufferSize() async throws {
        let pipe = Pipe()
        let text = String(repeating: "Größe 👩🏽‍🚀\n", count: 40_000)
        let writer = DescriptorWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let thread = Thread {
            try? writer.write(text)
            try? pipe.fileHandleForWriting.close()
        }
        thread.start()
        let read = try DescriptorReader(descriptor: pipe.fileHandleForReading.fileDescriptor).readToEnd()
        #expect(read == Array(text.utf8))
    }

    @Test func aNonBlockingPipeIsWrittenWhole() throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        let thread = Thread {
            try? DescriptorWriter(descriptor: descriptor).write(bytes: bytes)
            try? pipe.fileHandleForWriting.close()
        }
        thread.start()
        #expect(
            try DescriptorReader(descriptor: pipe.fileHandleForReading.fileDescriptor).readToEnd().count == bytes.count)
    }

    /// A pipe is full, and the reason to stop waiting arrives during the wait.
    @Test func writeToAFullPipeEndsWhenTheWaitIsGivenUp() {
        let pipe = Pipe()
        var writer = DescriptorWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let questions = Mutex(0)
        writer.giveUp = {
            questions.withLock { count in
                count += 1
                return count < 3 ? nil : .interrupted
            }
        }
        #expect(throws: DescriptorError.interrupted) { try writer.write(bytes: [UInt8](repeating: 7, count: 1 << 20)) }
        #expect(questions.withLock { $0 } == 3)
    }

    @Test func writeIsNotInterruptedWhileThePipeHasRoom() throws {
        let pipe = Pipe()
        var writer = DescriptorWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        writer.giveUp = { .interrupted }
        let bytes = [UInt8](repeating: 7, count: 50_000)
        try writer.write(bytes: bytes)
        try pipe.fileHandleForWriting.close()
        #expect(try DescriptorReader(descriptor: pipe.fileHandleForReading.fileDescriptor).readToEnd() == bytes)
    }

    @Test func outputIsWaitedForUntilItsTimeIsOver() {
        #expect(OutputPatience(limit: nil).error == nil)
        #expect(OutputPatience(limit: .seconds(1_000)).error == nil)
        let late = OutputPatience(limit: .zero)
        #expect(late.error == .late && !late.isInterrupted)
        late.interrupt()
        #expect(late.error == .interrupted && late.isInterrupted)
    }

    /// In a process of its own, because a program that another test starts may inherit the pipe's reading end.
    @Test func writeToAPipeWithoutAReaderReportsClosed() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_IGN)
            let pipe = Pipe()
            try pipe.fileHandleForReading.close()
            #expect(throws: DescriptorError.closed) {
                try DescriptorWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor).write("x")
            }
        }
    }

    @Test func otherFailuresCarryTheirCode() {
        #expect(throws: DescriptorError.failed(code: EBADF)) { try DescriptorWriter(descriptor: -1).write("x") }
        #expect(throws: DescriptorError.failed(code: EBADF)) { try DescriptorReader(descriptor: -1).readToEnd() }
    }

    @Test func aFileThatCannotBeWrittenIsAUsageError() {
        #expect(throws: UsageError.self) { try OutputFile(path: "/nonexistent/report.json") }
    }
}

@Suite struct TerminalStyleTests {
    @Test func colourHeedsTheChoiceTheTerminalAndTheEnvironment() {
        #expect(ColorChoice.always.isColored(onTerminal: false, environment: ["NO_COLOR": "1"]))
        #expect(!ColorChoice.never.isColored(onTerminal: true, environment: [:]))
        #expect(ColorChoice.auto.isColored(onTerminal: true, environment: [:]))
        #expect(ColorChoice.auto.isColored(onTerminal: true, environment: ["NO_COLOR": ""]))
        #expect(!ColorChoice.auto.isColored(onTerminal: true, environment: ["NO_COLOR": "1"]))
        #expect(!ColorChoice.auto.isColored(onTerminal: true, environment: ["TERM": "dumb"]))
        #expect(!ColorChoice.auto.isColored(onTerminal: false, environment: [:]))
    }

    @Test func escapeSequencesAreAddedOnlyInAColoredStyle() {
        #expect(TerminalStyle(isColored: false).red("x") == "x")
        #expect(TerminalStyle(isColored: true).red("x") == "\u{1B}[31mx\u{1B}[0m")
        #expect(TerminalStyle(isColored: true).red("") == "")
    }
}

@Suite struct SignalWatcherTests {
    /// Ctrl-C has to end a program whose watcher is gone.
    @Test func signalActionsAreRestoredAfterwards() {
        signal(SIGUSR2, SIG_DFL)
        var watcher: SignalWatcher? = SignalWatcher([SIGUSR2]) { _ in }
        #expect(watcher?.count == 0)
        watcher = nil
        let action = signal(SIGUSR2, SIG_DFL)
        #expect(unsafeBitCast(action, to: Int.self) == unsafeBitCast(SIG_DFL, to: Int.self))
    }
}
