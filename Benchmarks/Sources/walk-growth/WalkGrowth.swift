// Walks over a server's data, each with n and with 2n elements: Benchmarks/Runner/growth.py counts the instructions
// between the pauses, and demands that twice the input costs about twice as many.
import CMachine
import Foundation

/// The command, which prints one line of JSON for each walk, and pauses before it, after n and after 2n elements.
@main
struct WalkGrowth {
    static func main() {
        let wanted = CommandLine.arguments.dropFirst()
        for walk in Walk.all where wanted.isEmpty || wanted.contains(where: walk.name.contains) {
            let (few, many) = (walk.prepare(walk.count), walk.prepare(walk.count * 2))
            // Work that is done once, such as making a table of names, comes before the first pause.
            var sink = walk.prepare(8)()
            cmachine_note_pause()
            sink &+= few()
            cmachine_note_pause()
            sink &+= many()
            cmachine_note_pause()
            print(#"{"walk":"\#(walk.name)","count":\#(walk.count),"result":\#(sink)}"#)
        }
    }
}
