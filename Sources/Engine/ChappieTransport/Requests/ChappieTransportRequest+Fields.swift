// The settings of one request beside those of its instance.

extension ChappieTransportRequest {
    /// Returns a configuration with the request's own fields and time limits.
    func applied(to configuration: ChappieTransportConfiguration) -> ChappieTransportConfiguration {
        guard !self.fields.isEmpty || self.timeouts != nil else { return configuration }
        var copy = configuration
        let names = Set(self.fields.map { $0.name.lowercased() })
        copy.additionalFields.removeAll { names.contains($0.name.lowercased()) }
        copy.additionalFields += self.fields
        if let timeouts = self.timeouts { copy.timeouts = timeouts.bounded }
        return copy
    }

    /// The request's own fields in one spelling, by which two requests may share a WebSocket.
    var fieldLines: [String] { self.fields.map { "\($0.name.lowercased()): \($0.value)" }.sorted() }
}
