// swift-tools-version: 6.2
import PackageDescription

// The client itself has no dependency, so its handler for swift-log is a package of its own. Copy this folder into a program's
// sources and depend on it by its path.
let package = Package(
    name: "HeadgateLogging",
    products: [
        .library(name: "HeadgateLogging", targets: ["HeadgateLogging"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://git.example.org/headgate.git", from: "0.2.0"),
    ],
    targets: [
        .target(
            name: "HeadgateLogging",
            dependencies: [
                .product(name: "Logging", package: "swift-log"),
                .product(name: "HeadgateClient", package: "headgate"),
                .product(name: "HeadgateData", package: "headgate"),
            ])
    ]
)
