// swift-tools-version: 6.0
import PackageDescription

/// All packages, their tests, and the programs made of them: `swift test` here runs everything.
let package = Package(
    name: "Headgate",
    products: [
        .executable(name: "headgated", targets: ["headgated"]),
        // headgate
    ],
    dependencies: [
        .package(path: "Packages/Core"),
        .package(path: "Packages/Transport"),
        .package(path: "Packages/Server"),
        // .package(path: "Packages/Client"),
    ],
    targets: [
        .executableTarget(name: "headgated", dependencies: [.server, .transport], path: "Tools/headgated"),
        .testTarget(name: "HeadgateDataTests", dependencies: [.data], path: "Packages/Core/Tests/HeadgateDataTests"),
        .testTarget(
            name: "HeadgateCoreTests", dependencies: [.core, .coreTesting],
            path: "Packages/Core/Tests/HeadgateCoreTests"),
        .testTarget(
            name: "HeadgateWireTests", dependencies: [.wire, .data],
            path: "Packages/Transport/Tests/HeadgateWireTests"),
        .testTarget(
            name: "HeadgateTransportTests", dependencies: [.transport],
            path: "Packages/Transport/Tests/HeadgateTransportTests"),
        .testTarget(
            name: "HeadgateServerTests", dependencies: [.server, .coreTesting],
            path: "Packages/Server/Tests/HeadgateServerTests"),
    ]
)

extension Target.Dependency {
    static let data = product(name: "HeadgateData", package: "Core")
    static let core = product(name: "HeadgateCore", package: "Core")
    static let coreTesting = product(name: "HeadgateCoreTesting", package: "Core")
    static let wire = product(name: "HeadgateWire", package: "Transport")
    static let transport = product(name: "HeadgateTransport", package: "Transport")
    static let server = product(name: "HeadgateServer", package: "Server")
    static let client = product(name: "HeadgateClient", package: "Client")
}
