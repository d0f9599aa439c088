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

/// A fuzz target and what it fuzzes.
func fuzz(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .executableTarget(name: name, dependencies: ["Invariants"] + dependencies, swiftSettings: settings)
}

let package = Package(
    name: "fuzz",
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
        .systemLibrary(name: "CLibwebsockets", path: "Product/CLibwebsockets", pkgConfig: "libwebsockets"),
        .systemLibrary(name: "CZlib", path: "Product/CZlib", pkgConfig: "zlib"),

        .target(name: "Invariants", swiftSettings: settings),
        fuzz("FuzzEventStream", "ServerSentEvents"),
        fuzz("FuzzHTTPMessages", "HTTPProtocol"),
        fuzz("FuzzResponseEvents", "ResponseEvents"),
        fuzz("FuzzReplayLedger", "StreamSession"),
        fuzz("FuzzInflater", "CZlib", "Deflate", "WebSocketProtocol"),
        fuzz("FuzzHTTPFields", "ResponseEvents"),
        fuzz("FuzzProxyGreeting", "LibwebsocketsTransport", "StreamTransport"),
        .target(name: "CSanitizerOptions"),
        // A link to `../Tests/PromiseRecord`, as `Product` is one.
        .target(name: "PromiseRecord", dependencies: ["ChappieTransport"], swiftSettings: settings),
        fuzz(
            "FuzzEngine", "CSanitizerOptions", "ChappieTransport", "LibwebsocketsTransport", "PromiseRecord",
            "StreamTransport"),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
