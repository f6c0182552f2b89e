// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "Core",
    products: [
        .library(name: "HeadgateData", targets: ["HeadgateData"]),
        .library(name: "HeadgateCore", targets: ["HeadgateCore"]),
        .library(name: "HeadgateCoreTesting", targets: ["HeadgateCoreTesting"]),
    ],
    targets: [
        .target(name: "HeadgateData"),
        .target(name: "HeadgateCore", dependencies: ["HeadgateData"]),
        .target(name: "HeadgateCoreTesting", dependencies: ["HeadgateCore"]),
        .testTarget(name: "HeadgateDataTests", dependencies: ["HeadgateData"]),
        .testTarget(name: "HeadgateCoreTests", dependencies: ["HeadgateCore", "HeadgateCoreTesting"]),
    ]
)
