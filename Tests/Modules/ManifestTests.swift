import Foundation
import Testing

/// Tests the manifests of the packages. `Tests/Clients/versions.py` checks that all packages have the same version.
@Suite("Manifests") struct ManifestTests {
    private static let root = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    @Test("Each manifest requires the needed tools version: `nonisolated(nonsending)` came with Swift 6.2")
    func toolsVersion() throws {
        let paths =
            ["Package.swift", "Docs/Examples/SwiftPackage/Package.swift"]
            + ["Core", "Transport", "Server", "Client", "Console"].map { "Packages/\($0)/Package.swift" }
        for path in paths {
            let text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
            #expect(text.hasPrefix("// swift-tools-version: 6.2\n"), "\(path)")
        }
    }
}
