// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "chappie-transport", path: "..")],
    targets: [
        .executableTarget(
            name: "FuzzEventStream",
            dependencies: [.product(name: "ServerSentEvents", package: "chappie-transport")],
            swiftSettings: settings
        )
    ],
    swiftLanguageModes: [.v6]
)
