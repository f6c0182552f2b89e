import Foundation

/// Where the executables under test are: `$HEADGATE_BIN_DIR`, else beside the test runner.
enum BuiltProducts {
    /// The path of the product of that name.
    static func path(of product: String) throws -> String {
        for directory in directories {
            let candidate = directory + "/" + product
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
        }
        throw NeverHappened("a built \(product)", details: "looked in \(directories.joined(separator: ", "))")
    }

    private static let directories: [String] = {
        let given = ProcessInfo.processInfo.environment["HEADGATE_BIN_DIR"]
        let runners = [
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"), CommandLine.arguments.first,
        ]
        return [given].compactMap { $0 } + runners.compactMap { $0 }.flatMap(ancestors)
    }()

    /// The folder of a file and the two above it: a test bundle may be a folder itself.
    private static func ancestors(of path: String) -> [String] {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        let above = folder.deletingLastPathComponent()
        return [folder, above, above.deletingLastPathComponent()].map(\.path)
    }
}
