// swift-tools-version: 6.2
import PackageDescription

/// The simulation as an optimized program; see Tools/simulate. The root package has the same files as tests.
let package = Package(
    name: "Simulation",
    dependencies: [
        .package(path: "../../Packages/Core"),
        .package(path: "../../Packages/Transport"),
        .package(path: "../../Packages/Server"),
        .package(path: "../../Packages/Client"),
    ],
    targets: [
        .executableTarget(
            name: "simulate",
            dependencies: [
                .product(name: "HeadgateData", package: "Core"),
                .product(name: "HeadgateCore", package: "Core"),
                .product(name: "HeadgateCoreTesting", package: "Core"),
                .product(name: "HeadgateSeeds", package: "Core"),
                .product(name: "HeadgateWire", package: "Transport"),
                .product(name: "HeadgateTransport", package: "Transport"),
                .product(name: "HeadgateEncryption", package: "Transport"),
                .product(name: "HeadgateStore", package: "Server"),
                .product(name: "HeadgateSQLiteStore", package: "Server"),
                .product(name: "HeadgateServer", package: "Server"),
                .product(name: "HeadgateClient", package: "Client"),
            ],
            path: ".", exclude: ["Tests"])
    ]
)
