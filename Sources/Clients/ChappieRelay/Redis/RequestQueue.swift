/// Elements in the order in which they came, which are taken from the front.
struct RequestQueue<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    private var head = 0

    var count: Int { self.elements.count - self.head }
    var isEmpty: Bool { self.head == self.elements.count }
    var first: Element? { self.isEmpty ? nil : self.elements[self.head] }

    /// The element at a distance from the front.
    subscript(_ offset: Int) -> Element { self.elements[self.head + offset] }

    mutating func append(_ element: Element) { self.elements.append(element) }

    mutating func popFirst() -> Element? {
        guard !self.isEmpty else { return nil }
        defer {
            self.head += 1
            if self.isEmpty {
                // Elements that were taken are not kept.
                self.elements = []
                self.head = 0
            }
            // Each element is moved once on average.
            if self.head >= 64, self.head * 2 >= self.elements.count {
                self.elements.removeSubrange(..<self.head)
                self.head = 0
            }
        }
        return self.elements[self.head]
    }

    /// Takes all elements.
    mutating func takeAll() -> [Element] {
        defer {
            self.elements = []
            self.head = 0
        }
        return Array(self.elements[self.head...])
    }

    /// Puts elements in front of the others.
    mutating func prepend(_ elements: [Element]) {
        self.elements.replaceSubrange(..<self.head, with: elements)
        self.head = 0
    }
}
