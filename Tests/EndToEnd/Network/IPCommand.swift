import Foundation
import Testing

/// The command `ip` of iproute2.
enum IPCommand {
    static let path = "/bin/ip"

    /// Whether network namespaces can be made here.
    static func makesNamespaces() async -> Bool {
        guard geteuid() == 0, access(path, X_OK) == 0 else { return false }
        let namespace = NetworkNamespace()
        guard (try? await namespace.make()) != nil else { return false }
        await namespace.remove()
        return true
    }

    /// Runs it with these arguments, and gives back what it wrote.
    @discardableResult
    static func run(_ arguments: [String], input: String? = nil) async throws -> String {
        let folder = try TemporaryDirectory()
        defer { folder.remove() }
        let process = try ChildProcess(
            path, arguments, input: input, outputPath: folder.path("output"), errorPath: folder.path("errors"))
        let code = try await process.exitCode()
        guard code == 0 else {
            throw NeverHappened("ip \(arguments.joined(separator: " "))", details: process.errorOutput)
        }
        return process.output
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips where no network namespaces can be made.
    static var inNamespaces: Self {
        enabled("network namespaces take root and the command `ip` of iproute2") {
            await IPCommand.makesNamespaces()
        }
    }
}
