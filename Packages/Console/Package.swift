// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Console",
    products: [.library(name: "HeadgateConsole", targets: ["HeadgateConsole"])],
    dependencies: [.package(path: "../Core"), .package(path: "../Transport"), .package(path: "../Client")],
    targets: [
        .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .target(
            name: "HeadgateConsole",
            dependencies: [
                "CMicrohttpd", .product(name: "HeadgateData", package: "Core"),
                .product(name: "HeadgateWire", package: "Transport"),
                .product(name: "HeadgateTransport", package: "Transport"),
                .product(name: "HeadgateClient", package: "Client"),
                .product(name: "HeadgateText", package: "Client"),
            ],
            // The files become part of the program, which then needs no other file.
            resources: [
                .embedInCode("Assets/console.css"), .embedInCode("Assets/console.js"),
                .embedInCode("Assets/icon.svg"),
            ]),
        .testTarget(
            name: "HeadgateConsoleTests",
            dependencies: [
                "HeadgateConsole", .product(name: "HeadgateData", package: "Core"),
                .product(name: "HeadgateWire", package: "Transport"),
                .product(name: "HeadgateTransport", package: "Transport"),
                .product(name: "HeadgateClient", package: "Client"),
                .product(name: "HeadgateText", package: "Client"),
            ]),
    ]
)
