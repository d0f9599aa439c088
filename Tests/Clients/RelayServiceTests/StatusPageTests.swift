import Testing

@testable import ChappieRelay
@testable import RelayService

/// The page by which a person looks at a relay.
@Suite struct StatusPageTests {
    private func snapshot(_ streams: Int, _ counts: HubMeter.Counts = HubMeter.Counts()) -> StatusPage.Snapshot {
        StatusPage.Snapshot(
            streams: (0..<streams).map { number in
                .init(
                    id: ChappieStreamID(), age: .seconds(number), lastPosition: 41, readerCount: 3,
                    lag: .milliseconds(number))
            }, counts: counts, readers: 7, connections: 9, uptime: .seconds(90), isDraining: false)
    }

    @Test func eachStreamHasARowWithoutItsIdentifier() {
        let snapshot = self.snapshot(2)
        let page = StatusPage.html(snapshot)
        for stream in snapshot.streams {
            let id = stream.id.description
            #expect(page.contains("<code>\(id.prefix(8))…</code>") && !page.contains(id.prefix(9)))
        }
        #expect(page.contains("<dt>greatest lag</dt><dd>1.0 ms</dd>"))
        #expect(page.contains("ready, up for 90.0 s"))
    }

    @Test func longListsAreCut() {
        let page = StatusPage.html(self.snapshot(StatusPage.streamLimit + 5))
        #expect(page.components(of: "<tr><td>") == StatusPage.streamLimit)
        #expect(page.contains("and 5 more"))
        #expect(StatusPage.html(self.snapshot(0)).contains("No stream runs here now."))
    }

    @Test func theJournalsTimesAreBoundsOfShares() {
        var counts = HubMeter.Counts()
        #expect(counts.bound(ofShare: 0.5) == nil)
        #expect(StatusPage.html(self.snapshot(0, counts)).contains("<dt>journal, p99</dt><dd>–</dd>"))
        counts.appends[0] = 98
        counts.appends[3] = 1
        counts.appends[10] = 1
        counts.appendTime = .seconds(3)
        #expect(counts.appendCount == 100)
        #expect(counts.bound(ofShare: 0.5) == 1 && counts.bound(ofShare: 0.99) == 10 && counts.bound(ofShare: 1) == nil)
        let page = StatusPage.html(self.snapshot(0, counts))
        #expect(page.contains("<dt>journal, mean</dt><dd>30 ms</dd>"))
        #expect(page.contains("<dt>journal, p99</dt><dd>≤ 10 ms</dd>"))
        let text = RelayMetrics().text(counts, producers: 0, connections: 0)
        #expect(text.contains("append_seconds_bucket{le=\"0.001\"} 98\n"))
        #expect(text.contains("append_seconds_bucket{le=\"1.0\"} 99\n"))
        #expect(text.contains("append_seconds_bucket{le=\"+Inf\"} 100\n") && text.contains("append_seconds_sum 3.0\n"))
    }

    @Test(arguments: [
        (0.0, "0 ms"), (0.0012, "1.2 ms"), (0.25, "250 ms"), (1, "1.0 s"), (119, "119.0 s"), (600, "10 min"),
        (7300, "2 h"), (200_000, "2 d"),
    ])
    func timesHaveFewDigits(seconds: Double, text: String) {
        #expect(StatusPage.time(.seconds(seconds)) == text)
    }

    @Test(
        arguments: [
            ("Bearer k-1", false, "k-1"), ("bearer  k-1", true, "k-1"), ("Basic Om==", true, ""),
            ("Basic bWU6ay0xOjI=", true, "k-1:2"), ("Basic bWU6ay0xOjI=", false, nil), ("Basic bWU=", true, nil),
            ("Basic %%", true, nil), ("Bearer", true, nil), ("", true, nil), ("Digest x", true, nil),
        ] as [(String, Bool, String?)])
    func aPasswordIsAKeyOnThePageAlone(field: String, takesPassword: Bool, key: String?) {
        #expect(Relay.key(in: field, takesPassword: takesPassword) == key)
    }
}

extension String {
    fileprivate func components(of part: String) -> Int {
        self.indices.count { self[$0...].hasPrefix(part) }
    }
}
