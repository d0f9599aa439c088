// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// A module of the product, built from its own sources.
///
/// `Product` is a link to `../Sources`: what has `package` access is only seen inside one package.
func product(_ name: String, dependencies: [Target.Dependency] = [], libraries: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Product/\(name)", swiftSettings: settings,
        linkerSettings: libraries.map { .linkedLibrary($0) })
}

let package = Package(
    name: "benchmarks",
    targets: [
        product("CLineTerminatorScan"),
        product("ServerSentEvents", dependencies: ["CLineTerminatorScan"]),
        product("HTTPProtocol"),
        product("WebSocketProtocol"),
        product("Deflate", dependencies: ["CZlib", "WebSocketProtocol"]),
        product("CSimdjson", libraries: ["simdjson"]),
        product("ResponseEvents", dependencies: ["CSimdjson"]),
        product("StreamTransport"),
        product("StreamSession", dependencies: ["StreamTransport"]),
        product("CLibwebsocketsShim", dependencies: ["CLibwebsockets"], libraries: ["crypto", "ssl"]),
        product(
            "LibwebsocketsTransport",
            dependencies: ["CLibwebsocketsShim", "Deflate", "HTTPProtocol", "StreamTransport", "WebSocketProtocol"]),
        product(
            "ChappieTransport",
            dependencies: [
                "Deflate", "LibwebsocketsTransport", "ResponseEvents", "ServerSentEvents", "StreamSession",
                "StreamTransport",
            ]),
        product("Chappie", dependencies: ["ChappieTransport", "ResponseEvents", "StreamTransport"]),
        product("CTestServerTLS", libraries: ["crypto", "ssl"]),
        .target(
            name: "ChappieTestServer", dependencies: ["CTestServerTLS", "CZlib"], path: "Product/ChappieTestServer",
            exclude: ["Scenarios/README.md"], resources: [.embedInCode("Scenarios")], swiftSettings: settings),
        .systemLibrary(name: "CLibwebsockets", path: "Product/CLibwebsockets", pkgConfig: "libwebsockets"),
        .systemLibrary(name: "CZlib", path: "Product/CZlib", pkgConfig: "zlib"),

        // What the programs say of what they have measured.
        .target(
            name: "BenchmarkResults", dependencies: ["CMachine"], path: "Sources/BenchmarkResults",
            swiftSettings: settings),
        // Counts calls of the allocator, by standing in its place.
        .target(name: "CAllocationCounter", path: "Sources/CAllocationCounter"),
        // The machine's cores, and how fast it copies.
        .target(name: "CMachine", path: "Sources/CMachine"),
        .executableTarget(
            name: "sse-throughput",
            dependencies: ["BenchmarkResults", "CAllocationCounter", "CMachine", "ServerSentEvents"],
            path: "Sources/sse-throughput", swiftSettings: settings),
        .executableTarget(
            name: "event-stream-adapter", dependencies: ["ServerSentEvents"], path: "Sources/event-stream-adapter",
            swiftSettings: settings),
        .executableTarget(
            name: "event-cost",
            // The counter is not asked, but its functions are part of what the budgets have counted.
            dependencies: ["CAllocationCounter", "ChappieTransport", "ResponseEvents", "StreamTransport"],
            path: "Sources/event-cost", swiftSettings: settings),

        // What a connection costs: a server, a thread in read beside it, and the client's side.
        .target(name: "CStreamScript", path: "Sources/CStreamScript"),
        .target(
            name: "CBareClient", dependencies: ["CStreamScript"], path: "Sources/CBareClient"),
        .executableTarget(
            name: "stream-server", dependencies: ["CStreamScript"], path: "Sources/stream-server",
            linkerSettings: ["crypto", "ssl", "z"].map { .linkedLibrary($0) }),
        .executableTarget(
            name: "connection-cost",
            dependencies: ["BenchmarkResults", "CBareClient", "CMachine", "CStreamScript", "ChappieTransport"],
            path: "Sources/connection-cost", swiftSettings: settings),

        // What recovery costs, against the test server of the package.
        .executableTarget(
            name: "recovery-figures",
            dependencies: ["BenchmarkResults", "Chappie", "ChappieTestServer", "ChappieTransport"],
            path: "Sources/recovery-figures", swiftSettings: settings),
        // What other people's programs must have found in that server's responses, and one of them.
        .executableTarget(
            name: "stream-facts", dependencies: ["CStreamScript"], path: "Sources/stream-facts",
            linkerSettings: [.linkedLibrary("z")]),
        // The walks over a server's words, each with twice as many of them.
        .executableTarget(
            name: "walk-growth", dependencies: ["CMachine", "ChappieTransport", "ResponseEvents", "ServerSentEvents"],
            path: "Sources/walk-growth", swiftSettings: settings),
        .executableTarget(
            name: "urlsession-peer", path: "Sources/urlsession-peer", swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
