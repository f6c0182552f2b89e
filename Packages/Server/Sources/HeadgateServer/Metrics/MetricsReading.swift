import Glibc
import HeadgateCore
import HeadgateData

/// The values of all metrics, read from the service at one moment so that they agree.
///
/// The cost of a reading does not depend on the number of events (Behaviour O1).
struct MetricsReading {
    let events: Counters<EventCounter>
    let connections: Counters<ConnectionCounter>
    let operations: Operation.Counts
    let users: [StoreShares.UserUse]
    let dispatchers: [DispatcherSummary]
    let measures: [(dispatcher: String, measures: DispatcherMeasures)]
    let orphans: [OrphanSummary]
    let blockedPairs: [BlockedPair]
    let store: StoreReading
    let acknowledging: Histogram
    let syncing: Histogram
    let clients: Int
    let warnings: Int
    /// The layers of the settings that are in use. `isWhole` is true if the last load succeeded and all of the layer is
    /// in force.
    let layers: [(layer: SettingsLayer, isWhole: Bool)]
    /// The number of changed settings that take effect at the next start.
    let settingsWaiting: Int
    let droppedLogLines: Int
    let isReady: Bool
    let isConnected: Bool
    let started: Timestamp
    let process: ProcessUsage
    let now: Instant
    let wall: Timestamp
    /// The room on the data directory's disk, or nil if it is not known.
    let disk: DiskRoom?

    /// The values of the event store.
    struct StoreReading {
        let kind: String
        let durability: String
        let live: Tally
        let limits: StoreLimits
        let diskBytes: Int
        let deadLetterTally: Tally
        let rememberedIDs: Int
        /// The age of the oldest pending event, or nil if there is none.
        let oldest: Duration?
        /// The retained events: delivered to or dropped for every dispatcher, and kept by `store.retain`.
        let retained: Tally
        /// The age of the oldest retained event, or nil if there is none.
        let oldestRetained: Duration?
        /// True while events are being erased, or their bytes are being removed.
        let isErasing: Bool
    }
}

/// The processor time and memory that the process uses.
struct ProcessUsage {
    /// Processor time in user mode and in the kernel.
    let processor: Duration
    /// Resident memory, in bytes.
    let residentBytes: Int
    /// Virtual memory, in bytes.
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

    /// Reads the first two numbers of `/proc/self/statm`, in pages. Returns 0 for both if the file cannot be read.
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
