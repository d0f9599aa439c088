// swift-tools-version: 6.2
import PackageDescription

/// Settings of every Swift target.
///
/// `CHAPPIE_WARNINGS_AS_ERRORS=1` is what `make check` builds with.
let baseSettings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ] + (Context.environment["CHAPPIE_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)])

/// Settings of the targets that touch no C library.
let memorySafeSettings: [SwiftSetting] = baseSettings + [.strictMemorySafety()]

let package = Package(
    name: "chappie-transport",
    // Atomics, and sequences with a type of failure. Of no effect on Linux.
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "ServerSentEvents", targets: ["ServerSentEvents"]),
        .library(name: "WebSocketClient", targets: ["WebSocketClient"]),
        .library(name: "EventSource", targets: ["EventSource"]),
        .library(name: "ChappieTransport", targets: ["ChappieTransport"]),
        .library(name: "Chappie", targets: ["Chappie"]),
        .library(name: "ChappieSignIn", targets: ["ChappieSignIn"]),
        .library(name: "ChappieDiagnosis", targets: ["ChappieDiagnosis"]),
        .library(name: "ChappieRelay", targets: ["ChappieRelay"]),
        .library(name: "ChappieTestServer", targets: ["ChappieTestServer"]),
        .executable(name: "chappie", targets: ["ChappieCommand"]),
    ],
    targets: [
        // The system's libraries under the same names on every system.
        .target(name: "PlatformC", swiftSettings: memorySafeSettings),
        .target(name: "PlatformFoundation", swiftSettings: memorySafeSettings),

        // Pure: bytes in, values out. No I/O, clock, task or randomness.
        .target(
            name: "ServerSentEvents", dependencies: ["CLineTerminatorScan"], swiftSettings: memorySafeSettings),
        .target(name: "HTTPProtocol", swiftSettings: memorySafeSettings),
        .target(name: "WebSocketProtocol", swiftSettings: memorySafeSettings),
        .target(name: "Deflate", dependencies: ["CZlib", "WebSocketProtocol"], swiftSettings: baseSettings),
        .target(
            name: "ResponseEvents", dependencies: ["CSimdjson", "HTTPProtocol", "PlatformFoundation"],
            swiftSettings: baseSettings),
        .target(name: "StreamTransport", dependencies: ["PlatformC"], swiftSettings: memorySafeSettings),
        .target(
            name: "StreamSession", dependencies: ["PlatformC", "StreamTransport"], swiftSettings: memorySafeSettings),
        .target(name: "PathDiagnosis", swiftSettings: memorySafeSettings),

        // Drivers: sockets, clocks, tasks and C.
        .target(
            name: "LibwebsocketsTransport",
            dependencies: [
                "CLibwebsocketsShim", "Deflate", "HTTPProtocol", "PlatformC", "StreamTransport", "WebSocketProtocol",
            ],
            swiftSettings: baseSettings
        ),
        // The types that the engine and the clients beside it have in common.
        .target(
            name: "TransportSurface",
            dependencies: [
                "LibwebsocketsTransport", "PlatformC", "PlatformFoundation", "StreamSession", "StreamTransport",
            ],
            swiftSettings: memorySafeSettings),
        .target(
            name: "WebSocketClient",
            dependencies: [
                "LibwebsocketsTransport", "PlatformFoundation", "StreamSession", "StreamTransport", "TransportSurface",
                "WebSocketProtocol",
            ],
            swiftSettings: memorySafeSettings),
        .target(
            name: "EventSource",
            dependencies: [
                "HTTPProtocol", "LibwebsocketsTransport", "PlatformC", "PlatformFoundation", "ServerSentEvents",
                "StreamSession",
                "StreamTransport", "TransportSurface",
            ],
            swiftSettings: memorySafeSettings),
        .target(
            name: "RelayHTTPServer",
            dependencies: [
                "CLibwebsocketsShim", "HTTPProtocol", "LibwebsocketsTransport", "PlatformC", "StreamTransport",
                "WebSocketProtocol",
            ],
            swiftSettings: baseSettings),
        .target(
            name: "ChappieTransport",
            dependencies: [
                "Deflate", "HTTPProtocol", "LibwebsocketsTransport", "PlatformFoundation", "ResponseEvents",
                "ServerSentEvents", "StreamSession", "StreamTransport", "TransportSurface",
            ],
            swiftSettings: memorySafeSettings
        ),
        .target(
            name: "Chappie",
            dependencies: [
                "ChappieTransport", "PlatformFoundation", "ResponseEvents", "StreamTransport", "TransportSurface",
            ],
            swiftSettings: memorySafeSettings),
        .target(
            name: "ChappieSignIn",
            dependencies: [
                "Chappie", "ChappieTransport", "PlatformC", "PlatformFoundation", "StreamSession", "StreamTransport",
                "TransportSurface",
            ],
            swiftSettings: memorySafeSettings),
        .target(
            name: "ChappieRelay",
            dependencies: [
                "CLibwebsocketsShim", "CSQLite", "ChappieTransport", "LibwebsocketsTransport", "PlatformC",
                "PlatformFoundation", "ResponseEvents", "StreamSession", "StreamTransport", "TransportSurface",
            ],
            swiftSettings: baseSettings),
        .target(
            name: "RelayService",
            dependencies: [
                "ChappieRelay", "ChappieTransport", "HTTPProtocol", "PlatformFoundation", "RelayHTTPServer",
                "ResponseEvents", "StreamTransport", "WebSocketProtocol",
            ],
            swiftSettings: memorySafeSettings),
        .target(
            name: "ChappieDiagnosis",
            dependencies: [
                "ChappieTransport", "HTTPProtocol", "LibwebsocketsTransport", "PathDiagnosis", "PlatformC",
                "PlatformFoundation", "ResponseEvents", "ServerSentEvents", "StreamTransport", "TransportSurface",
            ],
            swiftSettings: memorySafeSettings),
        .target(
            name: "ChappieTestServer", dependencies: ["CTestServerTLS", "CZlib", "PlatformC", "PlatformFoundation"],
            exclude: ["Scenarios/README.md"],
            resources: [.embedInCode("Scenarios"), .embedInCode("Schemas")], swiftSettings: baseSettings),
        .executableTarget(
            name: "ChappieCommand",
            dependencies: [
                "Chappie", "ChappieDiagnosis", "ChappieRelay", "ChappieSignIn", "ChappieTestServer", "ChappieTransport",
                "EventSource", "PlatformC", "PlatformFoundation", "RelayHTTPServer", "RelayService", "ServerSentEvents",
                "TransportSurface", "WebSocketClient",
            ],
            swiftSettings: memorySafeSettings
        ),

        // C.
        .target(name: "CLineTerminatorScan"),
        .systemLibrary(
            name: "CLibwebsockets",
            pkgConfig: "libwebsockets",
            providers: [.apt(["libwebsockets-dev"]), .brew(["libwebsockets"])]
        ),
        .systemLibrary(
            name: "CZlib",
            pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]
        ),
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]
        ),
        .target(
            name: "CLibwebsocketsShim",
            dependencies: ["CLibwebsockets"],
            linkerSettings: [.linkedLibrary("crypto"), .linkedLibrary("ssl")]
        ),
        // Not a system library: simdjson's pkg-config file has a `-D` flag, which the package manager refuses with a
        // warning (Debian: libsimdjson-dev, Homebrew: simdjson).
        .target(name: "CSimdjson", linkerSettings: [.linkedLibrary("simdjson")]),
        .target(
            name: "CTestServerTLS",
            linkerSettings: [.linkedLibrary("crypto"), .linkedLibrary("ssl")]
        ),

        // Tests.
        .target(name: "CTLSHandshake", dependencies: ["CLibwebsocketsShim"], path: "Tests/C/CTLSHandshake"),
        .target(
            name: "CTLSServer", path: "Tests/C/CTLSServer",
            linkerSettings: [.linkedLibrary("crypto"), .linkedLibrary("ssl")]),
        .executableTarget(
            name: "autobahn-client", dependencies: ["WebSocketClient"],
            path: "Tests/Clients/AutobahnClient", swiftSettings: baseSettings),
        .executableTarget(
            name: "http-oracle", dependencies: ["HTTPProtocol"], path: "Tests/Protocols/HTTPOracle",
            exclude: ["README.md", "differences.py", "requirements.txt", "responses.py", "run.py", "theirs.py"],
            swiftSettings: baseSettings),
        .target(
            name: "PromiseRecord", dependencies: ["ChappieTransport"], path: "Tests/Engine/PromiseRecord",
            swiftSettings: baseSettings),
        .target(
            name: "TurnSimulation",
            dependencies: [
                "ChappieTransport", "PromiseRecord", "StreamSession", "StreamTransport", "TransportSurface",
            ],
            path: "Tests/Engine/TurnSimulation", swiftSettings: baseSettings),
        .executableTarget(
            name: "turn-simulator", dependencies: ["PromiseRecord", "TurnSimulation"],
            path: "Tests/Engine/TurnSimulator",
            swiftSettings: baseSettings),
        .executableTarget(
            name: "torture",
            dependencies: [
                "ChappieTestServer", "ChappieTransport", "PromiseRecord", "ResponseEvents", "StreamTransport",
            ],
            path: "Tests/Engine/Torture", swiftSettings: baseSettings),
        .executableTarget(
            name: "soak",
            dependencies: [
                "ChappieTestServer", "ChappieTransport", "EventSource", "StreamTransport", "WebSocketClient",
            ],
            path: "Tests/Stack/Soak", swiftSettings: baseSettings),
        .executableTarget(
            name: "connection-churn",
            dependencies: [
                "CProcessMemory", "ChappieTestServer", "EventSource", "LibwebsocketsTransport", "StreamTransport",
                "WebSocketClient",
            ],
            path: "Tests/Stack/ConnectionChurn", swiftSettings: baseSettings),
        .executableTarget(
            name: "relay-viewers",
            dependencies: ["CProcessMemory", "CTestServerTLS", "PlatformC", "RelayHTTPServer", "StreamTransport"],
            path: "Tests/Clients/RelayViewers", exclude: ["streams.py", "viewers.py"], swiftSettings: baseSettings),
        .target(name: "CProcessMemory", path: "Tests/C/CProcessMemory"),
        .executableTarget(
            name: "credential-probe", dependencies: ["Chappie", "ChappieSignIn"], path: "Tests/Clients/CredentialProbe",
            swiftSettings: baseSettings),
        .testTarget(
            name: "TurnSimulationTests", dependencies: ["StreamTransport", "TurnSimulation"],
            swiftSettings: baseSettings),
        .testTarget(
            name: "ServerSentEventsTests", dependencies: ["ServerSentEvents"], swiftSettings: baseSettings),
        .testTarget(
            name: "EventSourceTests",
            dependencies: ["EventSource", "ServerSentEvents", "StreamSession", "StreamTransport", "TransportSurface"],
            swiftSettings: baseSettings),
        .testTarget(name: "HTTPProtocolTests", dependencies: ["HTTPProtocol"], swiftSettings: baseSettings),
        .testTarget(
            name: "WebSocketProtocolTests", dependencies: ["WebSocketProtocol"], swiftSettings: baseSettings),
        .testTarget(
            name: "DeflateTests", dependencies: ["Deflate", "CZlib", "WebSocketProtocol"],
            swiftSettings: baseSettings),
        .testTarget(
            name: "ResponseEventsTests", dependencies: ["HTTPProtocol", "PlatformC", "ResponseEvents"],
            swiftSettings: baseSettings),
        .testTarget(
            name: "StreamTransportTests", dependencies: ["StreamTransport"], swiftSettings: baseSettings),
        .testTarget(
            name: "StreamSessionTests", dependencies: ["StreamSession", "StreamTransport"],
            swiftSettings: baseSettings),
        .testTarget(name: "PathDiagnosisTests", dependencies: ["PathDiagnosis"], swiftSettings: baseSettings),
        .testTarget(
            name: "ChappieDiagnosisTests",
            dependencies: [
                "ChappieDiagnosis", "ChappieTransport", "PathDiagnosis", "StreamSession", "StreamTransport",
                "TransportSurface",
            ],
            swiftSettings: baseSettings),
        .testTarget(
            name: "LibwebsocketsTransportTests",
            dependencies: [
                "CLibwebsocketsShim", "CTLSServer", "Deflate", "LibwebsocketsTransport", "PlatformC", "StreamTransport",
                "WebSocketProtocol",
            ],
            swiftSettings: baseSettings),
        .testTarget(
            name: "WebSocketClientTests",
            dependencies: ["StreamTransport", "TransportSurface", "WebSocketClient"],
            swiftSettings: baseSettings),
        .testTarget(
            name: "RelayHTTPServerTests",
            dependencies: [
                "CLibwebsocketsShim", "CTestServerTLS", "HTTPProtocol", "PlatformC", "RelayHTTPServer",
                "StreamTransport", "WebSocketProtocol",
            ],
            swiftSettings: baseSettings),
        .testTarget(
            name: "ChappieTransportTests",
            dependencies: [
                "ChappieTransport", "ResponseEvents", "StreamSession", "StreamTransport", "TransportSurface",
            ],
            swiftSettings: baseSettings),
        .testTarget(
            name: "ChappieTests", dependencies: ["Chappie", "ChappieTransport", "ResponseEvents", "StreamTransport"],
            swiftSettings: baseSettings),
        .testTarget(
            name: "ChappieRelayTests",
            dependencies: ["ChappieRelay", "ChappieTransport", "PlatformC", "PlatformFoundation"],
            swiftSettings: baseSettings),
        .testTarget(
            name: "RelayServiceTests",
            dependencies: ["ChappieRelay", "ChappieTransport", "RelayHTTPServer", "RelayService", "ResponseEvents"],
            swiftSettings: baseSettings),
        .testTarget(
            name: "ChappieSignInTests",
            dependencies: ["Chappie", "ChappieSignIn", "ChappieTransport", "StreamTransport", "TransportSurface"],
            swiftSettings: baseSettings),
        .testTarget(
            name: "ChappieTestServerTests", dependencies: ["ChappieTestServer", "PlatformC"],
            swiftSettings: baseSettings),
        .testTarget(
            name: "ChappieCommandTests",
            dependencies: [
                "Chappie", "ChappieCommand", "ChappieDiagnosis", "ChappieSignIn", "ChappieTestServer",
                "ChappieTransport", "EventSource", "PathDiagnosis", "ServerSentEvents", "StreamTransport",
                "TransportSurface", "WebSocketClient",
            ],
            swiftSettings: baseSettings),
        .testTarget(
            name: "LoopbackTests",
            dependencies: [
                "CTLSHandshake", "CTestServerTLS", "Chappie", "ChappieCommand", "ChappieDiagnosis", "ChappieRelay",
                "ChappieSignIn", "ChappieTestServer", "ChappieTransport", "Deflate", "EventSource",
                "LibwebsocketsTransport",
                "PathDiagnosis", "RelayHTTPServer", "RelayService", "ResponseEvents", "StreamTransport",
                "TransportSurface",
                "WebSocketClient", "WebSocketProtocol",
            ],
            swiftSettings: baseSettings),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

/// The modules in each folder of `Sources`; the tests of a module are in the folder of that name in `Tests`.
let rooms = [
    "Protocols": ["ServerSentEvents", "WebSocketProtocol", "HTTPProtocol", "Deflate", "ResponseEvents"],
    "Engine": [
        "StreamSession", "StreamTransport", "LibwebsocketsTransport", "TransportSurface", "ChappieTransport",
        "TurnSimulation",
    ],
    "Clients": [
        "Chappie", "ChappieRelay", "ChappieSignIn", "WebSocketClient", "EventSource", "RelayHTTPServer", "RelayService",
    ],
    "Tools": ["ChappieCommand", "ChappieDiagnosis", "PathDiagnosis", "ChappieTestServer"],
    "Stack": ["Loopback"],
    "C": [
        "CLibwebsockets", "CLibwebsocketsShim", "CLineTerminatorScan", "CSQLite", "CSimdjson", "CTestServerTLS",
        "CZlib",
        "PlatformC", "PlatformFoundation",
    ],
]
for target in package.targets where target.path == nil {
    let isTest = target.type == .test
    let module = isTest ? String(target.name.dropLast("Tests".count)) : target.name
    guard let room = rooms.first(where: { $0.value.contains(module) }) else { continue }
    target.path = "\(isTest ? "Tests" : "Sources")/\(room.key)/\(target.name)"
}

/// Builds tools and the targets that they are made of, and nothing else; the name of a target of the package is enough.
@MainActor func build(only tools: [Target]) {
    let known = Dictionary((package.targets + tools).map { ($0.name, $0) }) { own, _ in own }
    var wanted: Set<String> = []
    var open = tools.map(\.name)
    while let name = open.popLast() {
        guard wanted.insert(name).inserted, let target = known[name] else { continue }
        for case .byNameItem(let name, _) in target.dependencies { open.append(name) }
    }
    package.products.removeAll { $0.name != "chappie" || !wanted.contains("ChappieCommand") }
    package.targets = known.values.filter { wanted.contains($0.name) }.sorted { $0.name < $1.name }
}

func benchmark(_ name: String, _ dependencies: [Target.Dependency], libraries: [String] = []) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Benchmarks/Sources/\(name)", swiftSettings: baseSettings,
        linkerSettings: libraries.map { .linkedLibrary($0) })
}

// With `tracesModels: false` the target's own code and its models have a counter for each function, and none of their
// comparisons is traced: the code that is fuzzed leads the fuzzer on, and tracing the models takes half of their time.
func fuzz(_ name: String, _ dependencies: Target.Dependency..., tracesModels: Bool = true) -> Target {
    let coverage = ["-sanitize-coverage=func,inline-8bit-counters,pc-table"]
    return .executableTarget(
        name: name, dependencies: ["Invariants"] + dependencies, path: "Fuzz/Sources/\(name)",
        swiftSettings: baseSettings + (tracesModels ? [] : [.unsafeFlags(coverage)]))
}

// A variable chooses what is built: the benchmarks (Scripts/bench.sh, Scripts/budgets.sh), the fuzz targets
// (Scripts/fuzz.sh), or some test targets, by their names with spaces between them (the sanitizers, `make quick`).
if Context.environment["CHAPPIE_BENCHMARKS"] != nil {
    build(only: [
        // The lines that the programs write about their measurements.
        .target(
            name: "BenchmarkResults", dependencies: ["CMachine"], path: "Benchmarks/Sources/BenchmarkResults",
            swiftSettings: baseSettings),
        // Counts calls of the allocator, by standing in its place.
        .target(name: "CAllocationCounter", path: "Benchmarks/Sources/CAllocationCounter"),
        // The machine's cores, and how fast it copies.
        .target(name: "CMachine", path: "Benchmarks/Sources/CMachine"),
        benchmark("sse-throughput", ["BenchmarkResults", "CAllocationCounter", "CMachine", "ServerSentEvents"]),
        benchmark("event-stream-adapter", ["ServerSentEvents"]),
        // It never calls the counter; without it, calls of the allocator, and so the budgets, would count otherwise.
        benchmark(
            "event-cost",
            ["CAllocationCounter", "ChappieTransport", "ResponseEvents", "StreamTransport", "TransportSurface"]),

        // The cost of a connection: a server, a thread in read beside it, and the client's side.
        .target(name: "CStreamScript", path: "Benchmarks/Sources/CStreamScript"),
        .target(name: "CBareClient", dependencies: ["CStreamScript"], path: "Benchmarks/Sources/CBareClient"),
        benchmark("stream-server", ["CStreamScript"], libraries: ["crypto", "ssl", "z"]),
        benchmark(
            "connection-cost",
            [
                "BenchmarkResults", "CBareClient", "CMachine", "CStreamScript", "ChappieTransport", "EventSource",
                "LibwebsocketsTransport", "ServerSentEvents", "StreamTransport", "WebSocketClient", "WebSocketProtocol",
            ]),

        // The start of the command line, and beside it that of a process.
        .executableTarget(name: "ChappieCommand"),
        benchmark("empty-program", []),
        // The cost of recovery, against the test server of the package.
        benchmark("recovery-figures", ["BenchmarkResults", "Chappie", "ChappieTestServer", "ChappieTransport"]),
        // A stream's viewers at a relay, and at a bare fan-out of the same bytes.
        .target(name: "CFanOut", path: "Benchmarks/Sources/CFanOut"),
        benchmark(
            "relay-fan-out", ["BenchmarkResults", "CFanOut", "ChappieRelay", "ChappieTransport", "RelayService"]),
        // The facts that peers must find in that server's responses, and one of the peers.
        benchmark("stream-facts", ["CStreamScript"], libraries: ["z"]),
        // The walks over a server's words, each with twice as many of them.
        benchmark(
            "walk-growth",
            [
                "CMachine", "Chappie", "ChappieTransport", "ResponseEvents", "ServerSentEvents", "StreamSession",
                "TransportSurface",
            ]),
        benchmark("urlsession-peer", []),
    ])
} else if Context.environment["CHAPPIE_FUZZ"] != nil {
    build(only: [
        .target(name: "Invariants", path: "Fuzz/Sources/Invariants", swiftSettings: baseSettings),
        .target(name: "CSanitizerOptions", path: "Fuzz/Sources/CSanitizerOptions"),
        fuzz("FuzzEventStream", "ServerSentEvents", tracesModels: false),
        fuzz("FuzzHTTPMessages", "HTTPProtocol"),
        fuzz("FuzzResponseEvents", "ResponseEvents"),
        fuzz("FuzzDialects", "ResponseEvents"),
        fuzz("FuzzReplayLedger", "StreamSession"),
        fuzz("FuzzInflater", "CZlib", "Deflate", "WebSocketProtocol"),
        fuzz("FuzzHTTPFields", "HTTPProtocol", "ResponseEvents"),
        fuzz("FuzzProxyGreeting", "LibwebsocketsTransport", "StreamTransport"),
        fuzz("FuzzRelay", "ChappieRelay", "HTTPProtocol", "WebSocketProtocol"),
        fuzz(
            "FuzzEngine", "CSanitizerOptions", "ChappieTransport", "LibwebsocketsTransport", "PromiseRecord",
            "StreamTransport"),
    ])
} else if let chosen = Context.environment["CHAPPIE_TEST_TARGETS"] {
    let wanted = Set(chosen.split(separator: " ").map(String.init))
        // The targets that the tests of the whole stack are linked with, or start.
        .union(["CTLSHandshake", "CTLSServer", "CProcessMemory", "connection-churn", "credential-probe"])
    package.targets.removeAll { target in
        let isOfTests = target.type == .test || target.path?.hasPrefix("Tests/") == true
        return isOfTests && !wanted.contains(target.name)
    }
}
