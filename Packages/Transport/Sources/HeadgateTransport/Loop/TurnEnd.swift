import CUV
import HeadgateData

/// The work for the end of a loop's turn, by phase. While there is work, an idle handle keeps the loop from sleeping.
final class TurnEnd {
    private let check: Handle
    private let idle: Handle
    /// The waiting work, by phase.
    @exclusivity(unchecked) private var waiting: [[Work]] = TurnPhase.allCases.map { _ in [] }
    /// The number of waiting items of all phases together.
    @exclusivity(unchecked) private var count = 0
    @exclusivity(unchecked) private var running: [Work] = []
    /// The work for the end of the next turn.
    @exclusivity(unchecked) private var next: [Work] = []

    /// A wrapper for a closure. It saves an allocation: an array of closures would wrap each closure again.
    private struct Work {
        let run: () -> Void
    }

    init(_ handles: HandleRegistry) throws(TransportError) {
        check = try Handle("uv_check_init", in: handles) { uv_check_init($0, $1) }
        idle = try Handle("uv_idle_init", in: handles) { uv_idle_init($0, $1) }
        check.onEvent = { [unowned self] _, _ in run() }
        uv_check_start(check.raw()) { Handle.of($0).onEvent?(0, 0) }
    }

    func add(_ phase: TurnPhase, _ work: @escaping () -> Void) {
        stayAwake()
        waiting[phase.rawValue].append(Work(run: work))
        count += 1
    }

    /// Adds work for the first phase of the end of the next turn, after all ready sockets have been read.
    func addForNextTurn(_ work: @escaping () -> Void) {
        stayAwake()
        next.append(Work(run: work))
    }

    private func stayAwake() {
        if isIdle, next.isEmpty, idle.isOpen { uv_idle_start(idle.raw()) { _ in } }
    }

    private var isIdle: Bool { count == 0 }

    /// Runs the waiting work, and the work that it adds, up to a number of rounds. Work that adds itself again and
    /// again must not keep the loop from its sockets.
    func run() {
        for _ in 0..<Self.rounds where !isIdle {
            for phase in waiting.indices { run(phase) }
        }
        if !next.isEmpty { beginNext() }
        if isIdle, idle.isOpen { uv_idle_stop(idle.raw()) }
    }

    /// Runs the waiting work of one phase now.
    func runFirst(_ phase: TurnPhase) { run(phase.rawValue) }

    private func beginNext() {
        waiting[TurnPhase.facts.rawValue].append(contentsOf: next)
        count += next.count
        next.removeAll(keepingCapacity: true)
    }

    private func run(_ phase: Int) {
        guard !waiting[phase].isEmpty else { return }
        swap(&waiting[phase], &running)
        count -= running.count
        for work in running { work.run() }
        running.removeAll(keepingCapacity: true)
    }

    private static let rounds = 4
}
