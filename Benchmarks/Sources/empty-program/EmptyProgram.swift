// A Swift program with Foundation that does nothing else: the start of `chappie stream` is measured beside its own.
import Foundation

@main
struct EmptyProgram {
    static func main() { print(ProcessInfo.processInfo.processIdentifier) }
}
