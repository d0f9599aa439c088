import ChappieRelay

/// The page by which a person looks at a relay: one document without scripts and requests, which loads itself again.
///
/// Pure. It has no content of streams and no names of users; identifiers are shortened, as they may be all that a reader
/// needs.
enum StatusPage {
    /// The values that are shown.
    struct Snapshot {
        var streams: [ChappieHub.RunningStream]
        var counts: HubMeter.Counts
        var readers: Int
        var connections: Int
        var uptime: Duration
        var isDraining: Bool
    }

    /// The streams that are listed.
    static let streamLimit = 200

    /// The fields of the answer besides its length.
    static let fields = [
        ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"),
        ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    ]

    /// Returns the document.
    static func html(_ snapshot: Snapshot) -> String {
        let counts = snapshot.counts
        let mean = counts.appendCount == 0 ? nil : counts.appendTime / counts.appendCount
        let figures = [
            ("running streams", "\(snapshot.streams.count)"), ("viewers", "\(snapshot.readers)"),
            ("connections", "\(snapshot.connections)"), ("takeovers", "\(counts.takeovers)"),
            ("greatest lag", Self.time(snapshot.streams.map(\.lag).max() ?? .zero)),
            ("journal, mean", mean.map(Self.time) ?? "–"),
            ("journal, p50", Self.bound(counts, 0.5)), ("journal, p99", Self.bound(counts, 0.99)),
        ]
        let tiles = figures.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }
        let rows = snapshot.streams.prefix(Self.streamLimit).map { stream in
            "<tr><td><code>\(stream.id.description.prefix(8))…</code></td><td>\(Self.time(stream.age))</td>"
                + "<td>\(stream.lastPosition)</td><td>\(stream.readerCount)</td><td>\(Self.time(stream.lag))</td></tr>"
        }
        let rest = snapshot.streams.count - rows.count
        let table =
            rows.isEmpty
            ? "<p>No stream runs here now.</p>"
            : "<table><thead><tr><th>stream</th><th>age</th><th>position</th><th>viewers</th><th>lag</th></tr></thead>"
                + "<tbody>\(rows.joined())</tbody></table>" + (rest > 0 ? "<p>and \(rest) more</p>" : "")
        let state = snapshot.isDraining ? "shutting down" : "ready"
        return """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><title>chappie relay: \(state)</title>
            <meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv="refresh" content="2">
            <style>\(Self.style)</style></head>
            <body><main><h1>chappie relay</h1><p>\(state), up for \(Self.time(snapshot.uptime))</p>
            <dl>\(tiles.joined())</dl>
            \(table)
            </main></body></html>

            """
    }

    private static let style = """
        :root{color-scheme:light dark}
        body{margin:0;font:15px/1.5 system-ui,sans-serif;background:light-dark(#fbfbfa,#16181c);color:light-dark(#1c1e21,#e6e6e3)}
        main{max-width:60rem;margin:0 auto;padding:2rem 1rem}
        h1{font-size:1.3rem;margin:0}
        p{color:light-dark(#5c6066,#a2a6ad)}
        dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(max(9rem,22%),1fr));gap:.75rem;margin:1.5rem 0}
        dl div{border:1px solid light-dark(#dedfdc,#34383f);border-radius:.5rem;padding:.75rem}
        dt{font-size:.8rem;color:light-dark(#5c6066,#a2a6ad)}
        dd{margin:0;font-size:1.4rem;font-variant-numeric:tabular-nums}
        table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
        th,td{text-align:right;white-space:nowrap;padding:.35rem .5rem;border-bottom:1px solid light-dark(#dedfdc,#34383f)}
        th{font-weight:600}th:first-child,td:first-child{text-align:left}
        """

    private static func bound(_ counts: HubMeter.Counts, _ share: Double) -> String {
        guard counts.appendCount > 0 else { return "–" }
        return counts.bound(ofShare: share).map { "≤ \($0) ms" } ?? "> \(HubMeter.Counts.bounds.last ?? 0) ms"
    }

    /// A duration in the unit in which it has few digits.
    static func time(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        switch seconds {
        case ..<0.0005: return "0 ms"
        case ..<0.0095: return "\((seconds * 10_000).rounded() / 10) ms"
        case ..<0.9995: return "\(Int((seconds * 1000).rounded())) ms"
        case ..<120: return "\((seconds * 10).rounded() / 10) s"
        case ..<7200: return "\(Int(seconds / 60)) min"
        case ..<172_800: return "\(Int(seconds / 3600)) h"
        default: return "\(Int(seconds / 86_400)) d"
        }
    }
}
