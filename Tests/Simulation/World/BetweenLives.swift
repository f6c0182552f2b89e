@testable import HeadgateServer

/// Rots the disk between two lives of the daemon.
struct BetweenLives {
    private let world: World
    private let platter: SimulatedMedium

    init(_ world: World, _ platter: SimulatedMedium) {
        (self.world, self.platter) = (world, platter)
    }

    private var record: Record { world.record }

    func spoil(_ crowd: ClientFleet) {
        guard let rot = world.ledger.rot, record.oneIn(2) else { return }
        rot.strike(platter)
        // The ids of lost events may be lost with them.
        guard rot.kind == .frames else { return }
        crowd.forgetIDs()
        for side in world.sides { side.forgetIDs() }
    }
}
