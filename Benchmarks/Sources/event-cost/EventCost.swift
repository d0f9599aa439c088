// Measures what one event costs from the arena to the consumer.

/// The command.
@main
struct EventCost {
    static func main() {}
}
