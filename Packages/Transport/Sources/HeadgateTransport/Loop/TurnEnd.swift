import CUV

/// Work for the end of a loop's turn. While some waits, an idle handle keeps the loop from sleeping before it is run.
final class TurnEnd {
    private let check: Handle
    private let idle: Handle
    private var waiting: [() -> Void] = []
    private var running: [() -> Void] = []
    /// What waits for the end of the turn after this one.
    private var next: [() -> Void] = []

    init(_ handles: HandleRegistry) throws(TransportError) {
        check = try Handle("uv_check_init", in: handles) { uv_check_init($0, $1) }
        idle = try Handle("uv_idle_init", in: handles) { uv_idle_init($0, $1) }
        check.onEvent = { [unowned self] _, _ in run() }
        uv_check_start(check.raw()) { Handle.of($0).onEvent?(0, 0) }
    }

    func add(_ work: @escaping () -> Void) {
        stayAwake()
        waiting.append(work)
    }

    /// For the end of the next turn, all sockets that are ready then having been read.
    func addForNextTurn(_ work: @escaping () -> Void) {
        stayAwake()
        next.append(work)
    }

    private func stayAwake() {
        if waiting.isEmpty, next.isEmpty, idle.isOpen { uv_idle_start(idle.raw()) { _ in } }
    }

    /// Runs what waits, and what that adds, and so on for some rounds; work that adds itself for ever must not keep the
    /// loop from its sockets.
    func run() {
        for _ in 0..<Self.rounds where !waiting.isEmpty {
            swap(&waiting, &running)
            for work in running { work() }
            running.removeAll(keepingCapacity: true)
        }
        waiting.append(contentsOf: next)
        next.removeAll(keepingCapacity: true)
        if waiting.isEmpty, idle.isOpen { uv_idle_stop(idle.raw()) }
    }

    private static let rounds = 4
}
