// swift-tools-version: 6.0
import PackageDescription

/// Programs that look for input which the readers of foreign bytes cannot take. `Tools/fuzz` builds and runs them.
let package = Package(
    name: "Fuzz",
    dependencies: [
        .package(path: "../../Packages/Core"), .package(path: "../../Packages/Transport"),
        .package(path: "../../Packages/Server"),
    ],
    targets: [
        .target(name: "CFuzzer"),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CFuzzer",
                .product(name: "HeadgateData", package: "Core"),
                .product(name: "HeadgateWire", package: "Transport"),
                .product(name: "HeadgateServer", package: "Server"),
            ]),
    ]
)
