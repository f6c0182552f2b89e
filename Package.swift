// swift-tools-version: 6.2
import PackageDescription

// The whole of Headgate as one package. Other packages can depend on it by its URL, and `swift test` here runs every
// test. The packages in `Packages` also have their own manifests, so that each can be built and tested alone.
// `Tools/check-manifests` compares them with this one.

let core: [Target] = [
    .part("HeadgateData", of: "Core"),
    .part("HeadgateCore", of: "Core", ["HeadgateData"]),
    .part("HeadgateCoreTesting", of: "Core", ["HeadgateCore", "HeadgateSeeds"]),
    .part("HeadgateSeeds", of: "Core"),
    .tests("HeadgateSeedsTests", of: "Core", ["HeadgateSeeds"]),
    .tests("HeadgateDataTests", of: "Core", ["HeadgateData", "HeadgateSeeds"]),
    .tests("HeadgateCoreTests", of: "Core", ["HeadgateCore", "HeadgateCoreTesting", "HeadgateSeeds"]),
]

let transport: [Target] = [
    .library("CUV", of: "Transport", pkgConfig: "libuv", apt: "libuv1-dev"),
    .part("CSimdjson", of: "Transport", linking: "simdjson"),
    .part("HeadgateWire", of: "Transport", ["CSimdjson", "HeadgateData"]),
    .part("HeadgateTransport", of: "Transport", ["CUV", "HeadgateData"]),
    .part("CCipher", of: "Transport"),
    .part("HeadgateEncryption", of: "Transport", ["CCipher", "HeadgateData", "HeadgateTransport"]),
    .tests("HeadgateWireTests", of: "Transport", ["HeadgateWire", "HeadgateSeeds"]),
    .tests("HeadgateTransportTests", of: "Transport", ["HeadgateTransport"]),
    .tests("HeadgateEncryptionTests", of: "Transport", ["HeadgateEncryption"]),
]

let server: [Target] = [
    .library("CSQLite", of: "Server", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
    .library("CDisk", of: "Server"),
    .library("CMemory", of: "Server"),
    .library("CNetlink", of: "Server"),
    .library("CNATS", of: "Server", pkgConfig: "libnats", apt: "libnats-dev"),
    .library("CCrypto", of: "Server", pkgConfig: "libcrypto", apt: "libssl-dev"),
    .library("CKafka", of: "Server", pkgConfig: "rdkafka", apt: "librdkafka-dev"),
    .library("CZstd", of: "Server", pkgConfig: "libzstd", apt: "libzstd-dev"),
    .library("CXXHash", of: "Server", pkgConfig: "libxxhash", apt: "libxxhash-dev"),
    .library("CLZ4", of: "Server", pkgConfig: "liblz4", apt: "liblz4-dev"),
    .part("CBuild", of: "Server"),
    .part("CCurl", of: "Server", linking: "curl"),
    .part("CRE2", of: "Server", linking: "re2"),
    .part(
        "HeadgateStore", of: "Server",
        ["CDisk", "CXXHash", "CLZ4", "HeadgateCore", "HeadgateData", "HeadgateTransport", "HeadgateEncryption"]),
    .part(
        "HeadgateSQLiteStore", of: "Server",
        ["CSQLite", "CXXHash", "HeadgateCore", "HeadgateData", "HeadgateTransport"]),
    .part(
        "HeadgateServer", of: "Server",
        [
            "HeadgateStore", "HeadgateSQLiteStore", "CCurl", "CBuild", "CMemory", "CNetlink", "CCrypto", "CRE2",
            "CZstd", "CNATS", "CKafka", "CUV", "HeadgateCore", "HeadgateData", "HeadgateWire", "HeadgateTransport",
            "HeadgateEncryption",
        ]),
    .tests(
        "HeadgateStoreTests", of: "Server",
        ["HeadgateStore", "HeadgateEncryption", "HeadgateCoreTesting", "HeadgateSeeds"]),
    .tests("HeadgateSQLiteStoreTests", of: "Server", ["HeadgateSQLiteStore", "HeadgateCoreTesting"]),
    .tests(
        "HeadgateServerTests", of: "Server",
        ["HeadgateServer", "HeadgateEncryption", "HeadgateCoreTesting", "HeadgateSeeds"]),
]

let client: [Target] = [
    .part("HeadgateClient", of: "Client", ["HeadgateData", "HeadgateWire", "HeadgateTransport"]),
    .part("HeadgateClientTesting", of: "Client", ["HeadgateData", "HeadgateWire", "HeadgateTransport"]),
    .part("HeadgateText", of: "Client", ["HeadgateClient", "HeadgateData"]),
    .library("CPipe", of: "Client"),
    .library("CWidth", of: "Client"),
    .part("CProbe", of: "Client"),
    .part(
        "HeadgateCommands", of: "Client",
        [
            "CPipe", "CProbe", "CWidth", "HeadgateText", "HeadgateClient", "HeadgateData", "HeadgateWire",
            "HeadgateTransport", "HeadgateEncryption",
        ]),
    .tests(
        "HeadgateClientTests", of: "Client",
        [
            "HeadgateClient", "HeadgateClientTesting", "HeadgateData", "HeadgateWire", "HeadgateTransport",
            "HeadgateSeeds",
        ]),
    .tests(
        "HeadgateCommandsTests", of: "Client",
        [
            "HeadgateCommands", "HeadgateText", "HeadgateClient", "HeadgateClientTesting", "HeadgateData",
            "HeadgateWire", "HeadgateTransport", "HeadgateEncryption", "HeadgateSeeds",
        ]),
]

let console: [Target] = [
    .library("CMicrohttpd", of: "Console", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
    .part(
        "HeadgateConsole", of: "Console",
        ["CMicrohttpd", "HeadgateData", "HeadgateWire", "HeadgateTransport", "HeadgateClient", "HeadgateText"],
        embedding: ["Assets/console.css", "Assets/console.js", "Assets/icon.svg"]),
    .tests(
        "HeadgateConsoleTests", of: "Console",
        ["HeadgateConsole", "HeadgateData", "HeadgateWire", "HeadgateTransport", "HeadgateClient", "HeadgateText"]),
]

let programs: [Target] = [
    .plugin(name: "Commit", capability: .buildTool(), path: "Tools/parts/commit"),
    .program("headgated", ["HeadgateServer", "HeadgateTransport", "HeadgateData"]),
    .program("headgate", ["HeadgateCommands"]),
    .program("headgate-console", ["HeadgateConsole"]),
]

let examples: [Target] = [
    .executableTarget(
        name: "SwiftTracker", dependencies: ["HeadgateClient", "HeadgateData"], path: "Tools/parts/demo/SwiftTracker"),
    .executableTarget(
        name: "SwiftClientExample", dependencies: ["HeadgateClient", "HeadgateData"],
        path: "Docs/Examples/SwiftClient"),
    .executableTarget(
        name: "EmbeddedServer", dependencies: ["HeadgateServer", "HeadgateCore", "HeadgateData", "HeadgateTransport"],
        path: "Docs/Examples/EmbeddedServer"),
]

/// The tests and programs across packages.
let tests: [Target] = [
    .executableTarget(
        name: "CertifiedClient", dependencies: ["HeadgateClient", "HeadgateData", "HeadgateWire"],
        path: "Tests/Clients/Programs/CertifiedClient"),
    .executableTarget(
        name: "KafkaCluster", path: "Tests/KafkaCluster", exclude: ["guard.py"],
        linkerSettings: [.linkedLibrary("rdkafka")]),
    .testTarget(
        name: "ModulesTests",
        dependencies: [
            "HeadgateData", "HeadgateCore", "HeadgateWire", "HeadgateTransport", "HeadgateEncryption", "HeadgateStore",
            "HeadgateSQLiteStore", "HeadgateServer", "HeadgateClient",
        ],
        path: "Tests/Modules"),
    .testTarget(
        name: "SimulationTests",
        dependencies: [
            "HeadgateData", "HeadgateCore", "HeadgateCoreTesting", "HeadgateSeeds", "HeadgateWire",
            "HeadgateTransport", "HeadgateEncryption", "HeadgateStore", "HeadgateSQLiteStore", "HeadgateServer",
            "HeadgateClient",
        ],
        path: "Tests/Simulation", exclude: ["Package.swift", "Program", "Faults.txt"]),
    .target(name: "CFuzzSocket", path: "Tests/Fuzz/Sources/CFuzzSocket"),
    .testTarget(
        name: "FuzzReplayTests",
        dependencies: [
            "CFuzzSocket", "HeadgateData", "HeadgateCore", "HeadgateCoreTesting", "HeadgateSeeds", "HeadgateWire",
            "HeadgateTransport", "HeadgateStore", "HeadgateServer", "HeadgateClient",
        ],
        path: "Tests/Fuzz", exclude: ["Package.swift", "Sources/CFuzzer", "Sources/CFuzzSocket", "Sources/fuzz"],
        sources: ["Sources/FuzzTargets", "Tests/FuzzReplayTests"]),
    .testTarget(
        name: "EndToEndTests",
        dependencies: [
            "headgated", "headgate", "headgate-console", "CertifiedClient", "EmbeddedServer", "KafkaCluster",
            "HeadgateClient", "HeadgateData",
        ],
        path: "Tests/EndToEnd"),
]

let package = Package(
    name: "Headgate",
    products: [
        .executable(name: "headgated", targets: ["headgated"]),
        .executable(name: "headgate", targets: ["headgate"]),
        .executable(name: "headgate-console", targets: ["headgate-console"]),
    ]
        + [
            "HeadgateData", "HeadgateCore", "HeadgateCoreTesting", "HeadgateWire", "HeadgateTransport",
            "HeadgateEncryption", "HeadgateStore", "HeadgateSQLiteStore", "HeadgateServer", "HeadgateClient",
            "HeadgateClientTesting",
        ].map { .library(name: $0, targets: [$0]) },
    targets: core + transport + server + client + console + programs + examples + tests,
    cxxLanguageStandard: .cxx17
)

extension Target {
    /// Returns the target of a module in `Packages`. The `embedding` files become part of the program, which then
    /// needs no other file.
    static func part(
        _ name: String, of package: String, _ dependencies: [Dependency] = [], linking library: String? = nil,
        embedding assets: [String] = []
    ) -> Target {
        .target(
            name: name, dependencies: dependencies, path: "Packages/\(package)/Sources/\(name)",
            resources: assets.map { .embedInCode($0) },
            linkerSettings: library.map { [.linkedLibrary($0)] })
    }

    /// Returns the target of a C library of the system that one of the packages in `Packages` uses.
    static func library(
        _ name: String, of package: String, pkgConfig: String? = nil, apt debianPackage: String? = nil
    ) -> Target {
        .systemLibrary(
            name: name, path: "Packages/\(package)/Sources/\(name)", pkgConfig: pkgConfig,
            providers: debianPackage.map { [.apt([$0])] })
    }

    /// Returns the target of an installed program, whose `--version` shows the commit it was built from.
    static func program(_ name: String, _ dependencies: [Dependency]) -> Target {
        .executableTarget(name: name, dependencies: dependencies, path: "Tools/\(name)", plugins: ["Commit"])
    }

    /// Returns the target of the tests of a module in `Packages`.
    static func tests(_ name: String, of package: String, _ dependencies: [Dependency]) -> Target {
        .testTarget(name: name, dependencies: dependencies, path: "Packages/\(package)/Tests/\(name)")
    }
}
