// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Core",
    products: [
        .library(name: "HeadgateData", targets: ["HeadgateData"]),
        .library(name: "HeadgateCore", targets: ["HeadgateCore"]),
        .library(name: "HeadgateCoreTesting", targets: ["HeadgateCoreTesting"]),
        .library(name: "HeadgateSeeds", targets: ["HeadgateSeeds"]),
    ],
    targets: [
        .target(name: "HeadgateData"),
        .target(name: "HeadgateCore", dependencies: ["HeadgateData"]),
        .target(name: "HeadgateCoreTesting", dependencies: ["HeadgateCore", "HeadgateSeeds"]),
        .target(name: "HeadgateSeeds"),
        .testTarget(name: "HeadgateSeedsTests", dependencies: ["HeadgateSeeds"]),
        .testTarget(name: "HeadgateDataTests", dependencies: ["HeadgateData", "HeadgateSeeds"]),
        .testTarget(name: "HeadgateCoreTests", dependencies: ["HeadgateCore", "HeadgateCoreTesting", "HeadgateSeeds"]),
    ]
)
