// swift-tools-version: 6.0
import PackageDescription

/// All packages, their tests, and the programs made of them: `swift test` here runs everything.
let package = Package(
    name: "Headgate",
    products: [
        .executable(name: "headgated", targets: ["headgated"]),
        .executable(name: "headgate", targets: ["headgate"]),
        .executable(name: "headgate-console", targets: ["headgate-console"]),
    ],
    dependencies: [
        .package(path: "Packages/Core"),
        .package(path: "Packages/Transport"),
        .package(path: "Packages/Server"),
        .package(path: "Packages/Client"),
        .package(path: "Packages/Console"),
    ],
    targets: [
        .executableTarget(
            name: "headgated", dependencies: [.server, .transport, .data], path: "Tools/headgated",
            linkerSettings: .selfContained),
        .executableTarget(
            name: "headgate", dependencies: [.commands], path: "Tools/headgate", linkerSettings: .selfContained),
        .executableTarget(
            name: "headgate-console", dependencies: [.console], path: "Tools/headgate-console",
            linkerSettings: .selfContained),
        .executableTarget(
            name: "SwiftTracker", dependencies: [.client, .data], path: "Tools/parts/demo/SwiftTracker"),
        .executableTarget(
            name: "CertifiedClient", dependencies: [.client, .data, .wire],
            path: "Tests/Clients/Programs/CertifiedClient"),
        .executableTarget(
            name: "SwiftClientExample", dependencies: [.client, .data], path: "Docs/Examples/SwiftClient"),
        .executableTarget(
            name: "EmbeddedServer", dependencies: [.server, .core, .data, .transport],
            path: "Docs/Examples/EmbeddedServer"),
        .testTarget(
            name: "HeadgateSeedsTests", dependencies: [.seeds], path: "Packages/Core/Tests/HeadgateSeedsTests"),
        .testTarget(name: "HeadgateDataTests", dependencies: [.data], path: "Packages/Core/Tests/HeadgateDataTests"),
        .testTarget(
            name: "HeadgateCoreTests", dependencies: [.core, .coreTesting, .seeds],
            path: "Packages/Core/Tests/HeadgateCoreTests"),
        .testTarget(
            name: "HeadgateWireTests", dependencies: [.wire, .data, .seeds],
            path: "Packages/Transport/Tests/HeadgateWireTests"),
        .testTarget(
            name: "HeadgateTransportTests", dependencies: [.transport],
            path: "Packages/Transport/Tests/HeadgateTransportTests"),
        .testTarget(
            name: "HeadgateServerTests", dependencies: [.server, .coreTesting, .seeds],
            path: "Packages/Server/Tests/HeadgateServerTests"),
        .testTarget(
            name: "HeadgateClientTests", dependencies: [.client, .clientTesting, .data, .wire, .transport, .seeds],
            path: "Packages/Client/Tests/HeadgateClientTests"),
        .testTarget(
            name: "HeadgateCommandsTests", dependencies: [.commands, .client, .clientTesting, .data, .wire, .seeds],
            path: "Packages/Client/Tests/HeadgateCommandsTests"),
        .testTarget(
            name: "HeadgateConsoleTests", dependencies: [.console, .commands, .client, .transport, .wire, .data],
            path: "Packages/Console/Tests/HeadgateConsoleTests"),
        .testTarget(
            name: "ModulesTests", dependencies: [.data, .core, .wire, .transport, .server, .client],
            path: "Tests/Modules"),
        .testTarget(
            name: "SimulationTests",
            dependencies: [.server, .client, .transport, .wire, .core, .data, .coreTesting, .seeds],
            path: "Tests/Simulation", exclude: ["Package.swift", "Program"]),
        .target(name: "CFuzzSocket", path: "Tests/Fuzz/Sources/CFuzzSocket"),
        .testTarget(
            name: "FuzzReplayTests",
            dependencies: ["CFuzzSocket", .data, .core, .coreTesting, .wire, .transport, .server, .client, .seeds],
            path: "Tests/Fuzz", sources: ["Sources/FuzzTargets", "Tests/FuzzReplayTests"]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "headgated", "headgate", "headgate-console", "CertifiedClient", "EmbeddedServer", .client, .data,
            ],
            path: "Tests/EndToEnd"),
    ]
)

extension Target.Dependency {
    static let data = product(name: "HeadgateData", package: "Core")
    static let core = product(name: "HeadgateCore", package: "Core")
    static let coreTesting = product(name: "HeadgateCoreTesting", package: "Core")
    static let seeds = product(name: "HeadgateSeeds", package: "Core")
    static let wire = product(name: "HeadgateWire", package: "Transport")
    static let transport = product(name: "HeadgateTransport", package: "Transport")
    static let server = product(name: "HeadgateServer", package: "Server")
    static let commands = product(name: "HeadgateCommands", package: "Client")
    static let clientTesting = product(name: "HeadgateClientTesting", package: "Client")
    static let console = product(name: "HeadgateConsole", package: "Console")
    static let client = product(name: "HeadgateClient", package: "Client")
}

extension [LinkerSetting] {
    /// Released programs carry Swift's libraries in them: they run where no toolchain is, and start in half the time.
    static let selfContained = [LinkerSetting.unsafeFlags(["-static-stdlib"], .when(configuration: .release))]
}
