@testable import HeadgateServer

/// A possible next action of an actor.
struct Act {
    /// The relative frequency of the action.
    let weight: Int
    let body: () -> Void

    init(_ weight: Int, _ body: @escaping () -> Void) {
        self.weight = weight
        self.body = body
    }
}

/// A participant of a history besides the daemon, with its possible actions and its checks.
protocol Actor: AnyObject {
    /// The actions that the actor may take now.
    var acts: [Act] { get }
    /// True if the actor has nothing in progress.
    var isQuiet: Bool { get }
    /// Called when a daemon has started and serves.
    func lifeBegan(_ service: Service)
    /// Called when the daemon has ended, and lost its memory.
    func lifeEnded(_ end: LifeEnd)
    /// Called at the end of a run. From then on the actor must not disturb the others.
    func calmDown()
    /// Takes necessary actions at the end of a run.
    /// - Returns: True if there was any.
    func proceed() -> Bool
    /// Checks the results at the end of a run.
    func check()
}

extension Actor {
    var isQuiet: Bool { true }
    func lifeBegan(_ service: Service) {}
    func lifeEnded(_ end: LifeEnd) {}
    func calmDown() {}
    func proceed() -> Bool { false }
    func check() {}
}

/// The way in which a life of the daemon ends.
enum LifeEnd {
    /// An orderly stop: everything is written.
    case stopped
    /// A kill: everything written is kept.
    case killed
    /// A power failure: everything synced is kept.
    case powerless
}
