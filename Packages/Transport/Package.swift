// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Transport",
    products: [
        .library(name: "CUV", targets: ["CUV"]),
        .library(name: "HeadgateWire", targets: ["HeadgateWire"]),
        .library(name: "HeadgateTransport", targets: ["HeadgateTransport"]),
        .library(name: "HeadgateEncryption", targets: ["HeadgateEncryption"]),
    ],
    dependencies: [.package(path: "../Core")],
    targets: [
        .systemLibrary(name: "CUV", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
        .target(name: "CSimdjson", linkerSettings: [.linkedLibrary("simdjson")]),
        .target(
            name: "HeadgateWire",
            dependencies: ["CSimdjson", .product(name: "HeadgateData", package: "Core")]),
        .target(
            name: "HeadgateTransport",
            dependencies: ["CUV", .product(name: "HeadgateData", package: "Core")]),
        .target(name: "CCipher"),
        .target(
            name: "HeadgateEncryption",
            dependencies: ["CCipher", "HeadgateTransport", .product(name: "HeadgateData", package: "Core")]),
        .testTarget(
            name: "HeadgateWireTests", dependencies: ["HeadgateWire", .product(name: "HeadgateSeeds", package: "Core")]),
        .testTarget(name: "HeadgateTransportTests", dependencies: ["HeadgateTransport"]),
        .testTarget(name: "HeadgateEncryptionTests", dependencies: ["HeadgateEncryption"]),
    ],
    cxxLanguageStandard: .cxx17
)
