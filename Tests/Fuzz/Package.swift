// swift-tools-version: 6.2
import PackageDescription

/// Programs that look for input which the readers of foreign bytes cannot take. `Tools/fuzz` builds and runs them; the
/// package at the top has the same targets in its `FuzzReplayTests`, which need no fuzzer.
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
                .product(name: "HeadgateServer", package: "Server"),
                .product(name: "HeadgateClient", package: "Client"),
            ]),
        .executableTarget(name: "fuzz", dependencies: ["CFuzzer", "FuzzTargets"]),
    ]
)
