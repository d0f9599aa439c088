// swift-tools-version: 6.2
import PackageDescription

// Read as a program's own manifest: the package is a dependency, and only its products are used. A checkout may have
// any name, so the dependency is given one here.
let transport = "chappie-transport"

/// Set by the project's own check; no program needs it.
let settings: [SwiftSetting] =
    Context.environment["CHAPPIE_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]

let package = Package(
    name: "Examples",
    dependencies: [.package(name: transport, path: "..")],
    targets: [
        .executableTarget(
            name: "TerminalChat",
            dependencies: [
                .product(name: "Chappie", package: transport),
                .product(name: "ChappieTestServer", package: transport),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "Relay",
            dependencies: [
                .product(name: "Chappie", package: transport),
                .product(name: "ChappieTestServer", package: transport),
                .product(name: "ServerSentEvents", package: transport),
            ],
            swiftSettings: settings),
        .target(
            name: "Backend", dependencies: [.product(name: "ChappieTransport", package: transport)],
            swiftSettings: settings),
        .testTarget(
            name: "BackendTests",
            dependencies: ["Backend", .product(name: "ChappieTestServer", package: transport)],
            swiftSettings: settings),
        .executableTarget(
            name: "ParserAlone", dependencies: [.product(name: "ServerSentEvents", package: transport)],
            swiftSettings: settings),
        .executableTarget(
            name: "Batch",
            dependencies: [
                .product(name: "ChappieTransport", package: transport),
                .product(name: "ChappieTestServer", package: transport),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "ModelContext", dependencies: [.product(name: "EventSource", package: transport)],
            swiftSettings: settings),
        .executableTarget(
            name: "Realtime", dependencies: [.product(name: "WebSocketClient", package: transport)],
            swiftSettings: settings),
        .executableTarget(
            name: "Observability",
            dependencies: [
                "Logging", "Metrics",
                .product(name: "Chappie", package: transport),
                .product(name: "ChappieTestServer", package: transport),
            ],
            swiftSettings: settings),

        // Stand-ins for swift-log and swift-metrics, so that the examples build without a network. In a program, delete
        // both and depend on the packages: no other line changes.
        .target(name: "Logging", swiftSettings: settings),
        .target(name: "Metrics", swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
