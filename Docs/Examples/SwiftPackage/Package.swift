// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "shop",
    dependencies: [
        .package(url: "https://git.example.org/headgate.git", from: "0.2.0")
    ],
    targets: [
        .executableTarget(
            name: "signup", dependencies: [.product(name: "HeadgateClient", package: "headgate")]),
        .executableTarget(
            name: "gate",
            dependencies: [
                .product(name: "HeadgateServer", package: "headgate"),
                .product(name: "HeadgateCore", package: "headgate"),
                .product(name: "HeadgateTransport", package: "headgate"),
            ]),
    ]
)
