// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "barriers",
    dependencies: [.package(name: "Core", path: "../../../../Packages/Core")],
    targets: [
        .executableTarget(
            name: "barriers",
            dependencies: [
                .product(name: "HeadgateCore", package: "Core"),
                .product(name: "HeadgateData", package: "Core"),
                .product(name: "HeadgateCoreTesting", package: "Core"),
            ])
    ]
)
