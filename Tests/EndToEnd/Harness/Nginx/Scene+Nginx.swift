/// Runs a test in a scene with nginx. The collector is the one that nginx's `/behind` leads to; it does not listen yet.
func withNginx(_ test: (Scene, Nginx, Collector) async throws -> Void) async throws {
    try await withScene { scene in
        let collector = try scene.collector(listening: false)
        let nginx = try await Nginx(scene, behind: collector)
        defer { nginx.discard() }
        try await test(scene, nginx, collector)
    }
}
