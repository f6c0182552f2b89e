@testable import HeadgateServer

/// Something that an actor may do next.
struct Act {
    /// How often it is chosen, beside the others.
    let weight: Int
    let body: () -> Void

    init(_ weight: Int, _ body: @escaping () -> Void) {
        self.weight = weight
        self.body = body
    }
}

/// Who takes part in a history beside the daemon: what it may do, and what it knows must hold.
protocol Actor: AnyObject {
    /// What it may do, at any time.
    var acts: [Act] { get }
    /// Whether nothing is under way that it is a part of.
    var isQuiet: Bool { get }
    /// A daemon has been started, and serves.
    func lifeBegan(_ service: Service)
    /// The daemon is gone, with all that it had in memory.
    func lifeEnded(_ end: LifeEnd)
    /// From now on it does nothing that would be in the way.
    func calmDown()
    /// Does what is due, once all are calm.
    /// - Returns: whether there was something to do.
    func goOn() -> Bool
    /// Looks, once all is quiet, whether what must hold does.
    func check()
}

extension Actor {
    var isQuiet: Bool { true }
    func lifeBegan(_ service: Service) {}
    func lifeEnded(_ end: LifeEnd) {}
    func calmDown() {}
    func goOn() -> Bool { false }
    func check() {}
}

/// How a daemon's life ends.
enum LifeEnd {
    /// In order, with all written down.
    case stopped
    /// Killed: what it wrote is there.
    case killed
    /// Without power: what it synced is there.
    case powerless
}
