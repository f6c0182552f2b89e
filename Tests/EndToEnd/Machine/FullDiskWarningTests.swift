import Testing

/// The warning to the operator about a disk that is filling up.
@Suite(.enabled(if: SmallDisk.isPossible, "only root may mount a disk"))
struct FullDiskWarningTests {
    @Test("O1: `status` warns while the disk is nearly full, and no longer once there is room")
    func warning() async throws {
        try await withScene { scene in
            let disk = try SmallDisk(at: scene.directory.path("small"))
            defer { disk.unmount() }
            let daemon = scene.idleDaemon()
            daemon.dataPath = disk.path + "/data"
            try daemon.configure(["dispatchers": ["archive": ["kind": "file", "path": "/dev/null"]]])
            try await daemon.start()
            // While the store tries to prepare a segment's file, it takes all the room of so small a disk.
            try await eventually("no warning at first") { try await !isWarned(daemon) }
            try disk.fill()
            try await eventually("a warning") { try await isWarned(daemon) }
            #expect(try await CommandLineTool.run("status", on: daemon).output.contains("the disk is nearly full"))
            try disk.makeRoom()
            try await eventually("no warning") { try await !isWarned(daemon) }
        }
    }

    private func isWarned(_ daemon: Daemon) async throws -> Bool {
        try await daemon.warnings().contains {
            $0.hasPrefix("the disk is nearly full: ") && $0.contains("MiB are free at")
        }
    }
}
