// swift-tools-version: 6.2
import PackageDescription

/// Fuzzers for the code that parses foreign bytes. `Tools/fuzz` builds and runs them. The root package runs the same
/// targets without a fuzzer in `FuzzReplayTests`.
let package = Package(
    name: "Fuzz",
    dependencies: [
        .package(path: "../../Packages/Core"), .package(path: "../../Packages/Transport"),
        .package(path: "../../Packages/Server"), .package(path: "../../Packages/Client"),
    ],
    targets: [
        .target(name: "CFuzzer"),
        .target(name: "CFuzzSocket"),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "CFuzzSocket",
                .product(name: "HeadgateData", package: "Core"),
                .product(name: "HeadgateCore", package: "Core"),
                .product(name: "HeadgateCoreTesting", package: "Core"),
                .product(name: "HeadgateWire", package: "Transport"),
                .product(name: "HeadgateTransport", package: "Transport"),
                .product(name: "HeadgateStore", package: "Server"),
                .product(name: "HeadgateServer", package: "Server"),
                .product(name: "HeadgateClient", package: "Client"),
            ]),
        .executableTarget(name: "fuzz", dependencies: ["CFuzzer", "FuzzTargets"]),
    ]
)
