// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Client",
    products: [
        .library(name: "HeadgateClient", targets: ["HeadgateClient"]),
        .library(name: "HeadgateClientTesting", targets: ["HeadgateClientTesting"]),
        .library(name: "HeadgateText", targets: ["HeadgateText"]),
        .library(name: "HeadgateCommands", targets: ["HeadgateCommands"]),
    ],
    dependencies: [.package(path: "../Core"), .package(path: "../Transport")],
    targets: [
        .target(name: "HeadgateClient", dependencies: [.data, .wire, .transport]),
        .target(name: "HeadgateClientTesting", dependencies: [.data, .wire, .transport]),
        .target(name: "HeadgateText", dependencies: ["HeadgateClient", .data]),
        .systemLibrary(name: "CPipe"),
        .systemLibrary(name: "CWidth"),
        .target(name: "CProbe"),
        .target(
            name: "HeadgateCommands",
            dependencies: [
                "CPipe", "CProbe", "CWidth", "HeadgateText", "HeadgateClient", .data, .wire, .transport, .encryption,
            ]),
        .testTarget(
            name: "HeadgateClientTests",
            dependencies: ["HeadgateClient", "HeadgateClientTesting", .data, .wire, .transport, .seeds]),
        .testTarget(
            name: "HeadgateCommandsTests",
            dependencies: [
                "HeadgateCommands", "HeadgateText", "HeadgateClient", "HeadgateClientTesting", .data, .wire,
                .transport, .encryption, .seeds,
            ]),
    ]
)

extension Target.Dependency {
    static let data = product(name: "HeadgateData", package: "Core")
    static let seeds = product(name: "HeadgateSeeds", package: "Core")
    static let wire = product(name: "HeadgateWire", package: "Transport")
    static let transport = product(name: "HeadgateTransport", package: "Transport")
    static let encryption = product(name: "HeadgateEncryption", package: "Transport")
}
