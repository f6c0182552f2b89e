@testable import HeadgateServer

/// Changes of the disk between two lives of the daemon: damage, and use by other versions of the daemon.
struct BetweenLives {
    private let world: World
    private let platter: Platter

    init(_ world: World, _ platter: Platter) {
        (self.world, self.platter) = (world, platter)
    }

    private var record: Record { world.record }

    func spoil(_ scene: Scene, _ crowd: Crowd) {
        if let rot = world.ledger.rot, record.oneIn(2) {
            rot.strike(platter)
            // The ids of lost events may be lost with them.
            if rot.kind == .frames { forgetIDs(crowd) }
        }
        guard scene.hasVersions, record.oneIn(3) else { return }
        let versions = OtherVersions(platter, record)
        if record.oneIn(3) { versions.whileNewer(startInVain) }
        guard record.oneIn(2), versions.becomeOlder() else { return }
        record.count(.olderTaken)
        forgetIDs(crowd)
    }

    private func forgetIDs(_ crowd: Crowd) {
        crowd.forgetIDs()
        for side in world.sides { side.forgetIDs() }
    }

    /// - Returns: The reason why a daemon does not start, or nil if it starts.
    private func startInVain() -> String? {
        defer { world.store.end() }
        do {
            _ = try world.start(isWell: true)
            return nil
        } catch {
            // The configuration file is checked first.
            return world.file?.wasSound == false ? "a newer file" : "\(error)"
        }
    }
}
