// swift-tools-version: 6.0
import PackageDescription

/// Programs that look for input which the readers of foreign bytes cannot take. `Tools/fuzz` builds and runs them; the
/// package at the top runs `FuzzReplayTests`, which needs no fuzzer.
let package = Package(
    name: "Fuzz",
    dependencies: [
        .package(path: "../../Packages/Core"), .package(path: "../../Packages/Transport"),
        .package(path: "../../Packages/Server"),
    ],
    targets: [
        .target(name: "CFuzzer"),
        .target(
            name: "FuzzTargets",
            dependencies: [
                .product(name: "HeadgateData", package: "Core"),
                .product(name: "HeadgateWire", package: "Transport"),
                .product(name: "HeadgateServer", package: "Server"),
            ]),
        .executableTarget(name: "fuzz", dependencies: ["CFuzzer", "FuzzTargets"]),
    ]
)
