// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "Client",
    products: [.library(name: "HeadgateClient", targets: ["HeadgateClient"])],
    dependencies: [.package(path: "../Core"), .package(path: "../Transport")],
    targets: [
        .target(
            name: "HeadgateClient",
            dependencies: [
                .product(name: "HeadgateData", package: "Core"),
                .product(name: "HeadgateWire", package: "Transport"),
                .product(name: "HeadgateTransport", package: "Transport"),
            ]),
        .testTarget(name: "HeadgateClientTests", dependencies: ["HeadgateClient"]),
    ]
)
