// The parser alone: prints the events of an event stream, one a line.
//
//     swift run ParserAlone FILE
//     curl -N https://example.com/events | swift run ParserAlone
//
// No Foundation, no task and no library: the program reads, and the parser returns what the bytes complete.
import ServerSentEvents

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

func fail(_ message: String) -> Never {
    let line = "ParserAlone: \(message)\n"
    _ = write(STDERR_FILENO, line, line.utf8.count)
    exit(1)
}

let path = CommandLine.arguments.dropFirst().first
let input = path.map { open($0, O_RDONLY) } ?? STDIN_FILENO
guard input >= 0 else { fail("the file cannot be opened") }

var parser = EventStreamParser()
var events: [ServerSentEvent] = []
var buffer = [UInt8](repeating: 0, count: 65_536)
while true {
    let count = read(input, &buffer, buffer.count)
    guard count >= 0 else { fail("the input cannot be read") }
    guard count > 0 else { break }
    do {
        try parser.parse(buffer[..<count], appendingTo: &events)
    } catch {
        // An event has no end: it would otherwise need all memory.
        fail("\(error)")
    }
    // `debugDescription` keeps an event on one line, and control characters away from the terminal.
    for event in events { print(event.type, event.data.debugDescription) }
    events.removeAll(keepingCapacity: true)
    // In a pipe, `print` collects some kilobytes; an event is to be seen when it has come.
    fflush(nil)
}
// The standard drops an event without its blank line. Whether that is a loss is for the program to say.
guard parser.finish() == .clean else { fail("the stream ends inside an event") }
