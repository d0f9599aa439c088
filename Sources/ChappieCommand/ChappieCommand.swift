@main
struct ChappieCommand {
    static func main() async {}
}
