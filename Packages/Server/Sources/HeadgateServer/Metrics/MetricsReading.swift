import Glibc
import HeadgateCore
import HeadgateData

/// What the daemon's metrics are told from: one look at the service, so that all of them belong together.
///
/// It costs what there is to tell, and never goes over events (Behaviour O1).
struct MetricsReading {
    let events: Counters<EventCounter>
    let connections: Counters<ConnectionCounter>
    let dispatchers: [DispatcherSummary]
    let measures: [(dispatcher: String, measures: DispatcherMeasures)]
    let orphans: [OrphanSummary]
    let ways: [ClosedWay]
    let store: StoreReading
    let acknowledging: Histogram
    let syncing: Histogram
    let clients: Int
    let warnings: Int
    let droppedLogLines: Int
    let isReady: Bool
    let isConnected: Bool
    let started: Timestamp
    let process: ProcessUsage
    let now: Instant
    let wall: Timestamp
    /// Nil where it is not known.
    let disk: DiskRoom?

    /// What is told of the event store.
    struct StoreReading {
        let kind: String
        let durability: String
        let live: Tally
        let limits: StoreLimits
        let diskBytes: Int
        let letters: Tally
        let rememberedIDs: Int
        /// Nil when nothing waits.
        let oldest: Duration?
    }

    init(_ service: Service) {
        let gate = service.gate
        events = gate.counts.all
        connections = service.sessions.counters
        dispatchers = gate.dispatcherSummaries
        measures = gate.dispatcherMeasures
        orphans = gate.orphans
        ways = gate.closedTimes
        let store = gate.events.store
        self.store = StoreReading(
            kind: store.kind, durability: service.control.atStart.durability.rawValue, live: gate.stored,
            limits: service.settings.store, diskBytes: store.diskBytes, letters: gate.deadLetters,
            rememberedIDs: gate.events.remembered.ids, oldest: gate.oldestAge)
        acknowledging = gate.events.acknowledging
        syncing = store.syncing
        clients = service.sessions.count
        warnings = service.warnings.count
        droppedLogLines = service.log.output.dropped
        isReady = service.isReady
        isConnected = gate.network.value.kind != nil
        started = service.startedAt
        process = ProcessUsage()
        now = service.scheduler.now
        wall = service.scheduler.wall
        disk = service.disk?.room
    }
}

/// What the process has used of the machine.
struct ProcessUsage {
    /// Time on processors, of the program and of the system for it.
    let processor: Duration
    /// Memory that it has.
    let residentBytes: Int
    /// Addresses that it has.
    let virtualBytes: Int

    init() {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        processor = ProcessUsage.duration(usage.ru_utime) + ProcessUsage.duration(usage.ru_stime)
        let pages = ProcessUsage.pages()
        let size = sysconf(Int32(_SC_PAGESIZE))
        (virtualBytes, residentBytes) = (pages.total * size, pages.resident * size)
    }

    private static func duration(_ time: timeval) -> Duration {
        .seconds(time.tv_sec) + .microseconds(time.tv_usec)
    }

    /// Of `/proc/self/statm`, whose first two numbers these are; 0 where it cannot be read.
    private static func pages() -> (total: Int, resident: Int) {
        let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return (0, 0) }
        defer { close(file) }
        let text = withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            let count = max(0, read(file, buffer.baseAddress, buffer.count))
            return String(decoding: buffer.prefix(count), as: UTF8.self)
        }
        let numbers = text.split(separator: " ").prefix(2).map { Int($0) ?? 0 }
        return numbers.count == 2 ? (numbers[0], numbers[1]) : (0, 0)
    }
}
