// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Server",
    products: [
        .library(name: "HeadgateStore", targets: ["HeadgateStore"]),
        .library(name: "HeadgateSQLiteStore", targets: ["HeadgateSQLiteStore"]),
        .library(name: "HeadgateServer", targets: ["HeadgateServer"]),
    ],
    dependencies: [.package(path: "../Core"), .package(path: "../Transport")],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CDisk"),
        .systemLibrary(name: "CMemory"),
        .systemLibrary(name: "CNetlink"),
        .systemLibrary(name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
        .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),
        .target(name: "CBuild"),
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CRE2", linkerSettings: [.linkedLibrary("re2")]),
        .target(
            name: "HeadgateStore",
            dependencies: [
                "CDisk", "CXXHash", "CLZ4", .product(name: "HeadgateCore", package: "Core"),
                .product(name: "HeadgateData", package: "Core"),
                .product(name: "HeadgateTransport", package: "Transport"),
                .product(name: "HeadgateEncryption", package: "Transport"),
            ]),
        .target(
            name: "HeadgateSQLiteStore",
            dependencies: [
                "CSQLite", "CXXHash", .product(name: "HeadgateCore", package: "Core"),
                .product(name: "HeadgateData", package: "Core"),
                .product(name: "HeadgateTransport", package: "Transport"),
            ]),
        .target(
            name: "HeadgateServer",
            dependencies: [
                "HeadgateStore", "HeadgateSQLiteStore", "CCurl", "CBuild", "CMemory", "CNetlink", "CCrypto", "CRE2",
                "CNATS", "CKafka", "CZstd",
                .product(name: "HeadgateCore", package: "Core"),
                .product(name: "HeadgateData", package: "Core"),
                .product(name: "CUV", package: "Transport"),
                .product(name: "HeadgateWire", package: "Transport"),
                .product(name: "HeadgateTransport", package: "Transport"),
                .product(name: "HeadgateEncryption", package: "Transport"),
            ]),
        .testTarget(
            name: "HeadgateStoreTests",
            dependencies: [
                "HeadgateStore", .product(name: "HeadgateCoreTesting", package: "Core"),
                .product(name: "HeadgateSeeds", package: "Core"),
                .product(name: "HeadgateEncryption", package: "Transport"),
            ]),
        .testTarget(
            name: "HeadgateSQLiteStoreTests",
            dependencies: [
                "HeadgateSQLiteStore", .product(name: "HeadgateCoreTesting", package: "Core"),
            ]),
        .testTarget(
            name: "HeadgateServerTests",
            dependencies: [
                "HeadgateServer", .product(name: "HeadgateCoreTesting", package: "Core"),
                .product(name: "HeadgateSeeds", package: "Core"),
                .product(name: "HeadgateEncryption", package: "Transport"),
            ]),
    ],
    cxxLanguageStandard: .cxx17
)
