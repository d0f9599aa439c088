// Unbuffered input and output on pipes.
import Foundation
import Testing

@testable import ChappieCommand

@Suite struct DescriptorTests {
    @Test func everythingWrittenIsReadWhateverTheBufferHolds() async throws {
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

    @Test func aPipeThatNobodyReadsIsClosed() throws {
        signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        #expect(throws: DescriptorError.closed) {
            try DescriptorWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor).write("x")
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

    @Test func withoutColourTextIsLeftAlone() {
        #expect(TerminalStyle(isColored: false).red("x") == "x")
        #expect(TerminalStyle(isColored: true).red("x") == "\u{1B}[31mx\u{1B}[0m")
        #expect(TerminalStyle(isColored: true).red("") == "")
    }
}
