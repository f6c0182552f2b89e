import Foundation
import Testing

/// Compares `Docs/Protocol.md` with a real daemon.
@Suite struct ProtocolDocumentTests {
    private let document: String

    init() throws {
        document = try Documentation.text("Protocol.md")
    }

    @Test("Every example of Docs/Protocol.md works as written")
    func replay() async throws {
        let exchanges = try Exchange.all(in: document)
        let configuration = try #require(Documentation.blocks("json", in: document).first)
        try await withScene { scene in
            let daemon = try await scene.daemon(JSON(parsing: configuration))
            for exchange in exchanges { try await exchange.replay(with: daemon) }
        }
    }

    @Test(
        "The generated tables and clients' calls are up to date (Tools/protocol writes them)")
    func written() async throws {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized.path
        let folder = try TemporaryDirectory()
        defer { folder.remove() }
        let check = try ChildProcess(
            root + "/Tools/protocol", ["--check"], outputPath: folder.path + "/out", errorPath: folder.path + "/err")
        #expect(try await check.exitCode() == 0, "\(check.errorOutput)")
    }

    @Test("Every method, in both directions, has an example")
    func methods() async throws {
        let described = try await withDiscovery { $0["methods"].elements }
        let examples =
            try Exchange.all(in: document).flatMap(\.messages).map(\.text).joined()
            + Documentation.blocks("json", in: document).joined()
        for method in described {
            let name = try #require(method["name"].string)
            #expect(examples.contains("\"method\":\"\(name)\""), "no example of \(name)")
        }
    }

    @Test("The table of reasons is complete")
    func reasons() async throws {
        let described = try await withDiscovery { Set($0["components"]["errors"].members.keys) }
        let section = document.split(separator: "| reason | meaning |")[1].prefix { $0 != "#" }
        let rows = section.split(separator: "\n").compactMap { line in
            line.hasPrefix("| `") ? String(line.dropFirst(3).prefix { $0 != "`" }) : nil
        }
        #expect(Set(rows) == described)
    }

    private func withDiscovery<Found>(_ body: (JSON) throws -> Found) async throws -> Found {
        var document = JSON.null
        try await withScene { scene in
            document = try await scene.daemon([:]).ask("rpc.discover")
        }
        return try body(document)
    }
}
