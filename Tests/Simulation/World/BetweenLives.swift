@testable import HeadgateServer

/// The damage of the disk between two lives of the daemon.
struct BetweenLives {
    private let world: World
    private let medium: SimulatedMedium

    init(_ world: World, _ medium: SimulatedMedium) {
        (self.world, self.medium) = (world, medium)
    }

    private var record: Record { world.record }

    func spoil(_ fleet: ClientFleet) {
        guard let corrupt = world.ledger.corrupt, record.oneIn(2) else { return }
        corrupt.strike(medium)
        // The ids of lost events may be lost with them.
        guard corrupt.kind == .frames else { return }
        fleet.forgetIDs()
        for destination in world.destinations { destination.forgetIDs() }
    }
}
