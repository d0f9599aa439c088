// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "chappie-transport", path: "..")],
    targets: [
        .executableTarget(
            name: "sse-throughput",
            dependencies: [.product(name: "ServerSentEvents", package: "chappie-transport")],
            path: "Sources/sse-throughput",
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
