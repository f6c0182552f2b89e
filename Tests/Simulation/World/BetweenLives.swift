@testable import HeadgateServer

/// What may happen to the disk between two lives of the daemon: it rots, and other versions of the daemon use it.
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
            // With events their ids may be lost.
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

    /// - Returns: why a daemon does not start; nil when it does.
    private func startInVain() -> String? {
        defer { world.store.end() }
        do {
            _ = try world.start(isWell: true)
            return nil
        } catch {
            // What the file says is looked at first.
            return world.file?.wasSound == false ? "a newer file" : "\(error)"
        }
    }
}
