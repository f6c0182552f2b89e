import Foundation
import Testing

/// The `file` dispatcher with Debian's `logrotate`.
@Suite struct LogrotateTests {
    @Test(
        "K2: repeated rotation by logrotate during traffic neither loses nor duplicates events",
        arguments: ["create 0640", "nocreate"])
    func moved(style: String) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(["dispatchers": ["archive": ["kind": "file", "path": "events.ndjson"]]])
            let socketPath = daemon.socketPath
            async let outcome = StubbornTracker(name: "k", count: 3_000, socketPath: socketPath).run()
            let rotation = try Rotation(scene, of: daemon.dataPath + "/events.ndjson", style)
            for round in 1...8 {
                try await daemon.dispatcher("archive", until: "more is written") {
                    ($0["sent"].int ?? 0) >= round * 300
                }
                try await rotation.run()
            }
            let acknowledged = try await outcome.acknowledged
            try await daemon.dispatcher("archive", until: "all is written") { $0["sent"].int == 3_000 }
            let files = try rotation.files()
            // The number of files depends on whether anything was written between two rotations.
            #expect(files.count > 2)
            #expect(try files.flatMap { try self.ids(in: $0) }.sorted() == acknowledged.sorted())
        }
    }

    @Test("K2: after copytruncate the next write begins at the start of the file, and nothing is lost")
    func copied() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(["dispatchers": ["archive": ["kind": "file", "path": "events.ndjson"]]])
            let rotation = try Rotation(scene, of: daemon.dataPath + "/events.ndjson", "copytruncate")
            for round in 1...3 {
                try await daemon.track(round * 100 + 1...round * 100 + 50)
                try await daemon.dispatcher("archive", until: "all is written") { $0["sent"].int == round * 50 }
                try await rotation.run()
            }
            try await daemon.track(1...1)
            try await daemon.dispatcher("archive", until: "all is written") { $0["sent"].int == 151 }
            let files = try rotation.files()
            #expect(files.count == 4)
            let all = try files.map { try self.ids(in: $0) }
            #expect(Set(all.map(\.count)) == [50, 1])
            #expect(Set(all.flatMap { $0 }).count == 151)
        }
    }

    /// Returns the ids of all events in a file, and checks that each is a whole line.
    private func ids(in path: String) throws -> [String] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.isEmpty || text.hasSuffix("\n"))
        return try text.split(separator: "\n").map { try #require(try JSON(parsing: String($0))["id"].string) }
    }

    /// The program `logrotate` with a configuration for one file.
    private struct Rotation {
        let path: String
        private let folder: String
        private let configuration: String

        init(_ scene: Scene, of path: String, _ style: String) throws {
            self.path = path
            folder = scene.directory.path
            configuration = try scene.directory.write(
                "\(path) {\n rotate 99\n missingok\n nocompress\n \(style)\n}\n", to: "rotate")
            // logrotate rejects a configuration that others can write.
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: configuration)
        }

        func run() async throws {
            try await CommandLineTool.run(
                program: "/usr/sbin/logrotate", ["--force", "--state", folder + "/rotated", configuration], in: folder)
        }

        /// Returns the paths of the file and of all rotated copies.
        func files() throws -> [String] {
            let parent = (path as NSString).deletingLastPathComponent
            let name = (path as NSString).lastPathComponent
            return try FileManager.default.contentsOfDirectory(atPath: parent)
                .filter { $0.hasPrefix(name) }.map { parent + "/" + $0 }
        }
    }
}
