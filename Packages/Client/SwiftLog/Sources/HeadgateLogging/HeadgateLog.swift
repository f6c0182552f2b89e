import Foundation
import HeadgateClient
import HeadgateData
import Synchronization

/// The connection through which all loggers of a program track their records.
///
/// It keeps as many records as the client's options allow. It drops records while there is no room (`buffer_full`), and records
/// that the daemon refuses (the reason of the error). It drops records that are logged while four others of the same task are
/// being made (`nested`). An event `EVENT.dropped` with `count`, `reasons` and `since` comes before the next tracked record.
public final class HeadgateLog: Sendable {
    private let client: HeadgateClient
    private let event: String
    private let drops: LogDrops

    /// The greatest number of nested records of a task. A value that logs while it is formatted would otherwise never end.
    private static let mostNested = 4
    @TaskLocal private static var nesting = 0

    /// Creates a client for records. It waits for the daemon without an end, unless the options say otherwise.
    /// - Parameters:
    ///   - program: the program's name, for the events' `context.client`.
    ///   - version: the program's version.
    ///   - socketPath: the path of the daemon's socket; nil is the default path.
    ///   - event: the events' name.
    ///   - options: the client's options. `onDropped` is called for dropped records, too.
    /// - Throws: ``ClientError/cannotStart(cause:)``.
    public init(
        program: String, version: String, socketPath: String? = nil, event: String = "log",
        options: ClientOptions = HeadgateLog.defaultOptions
    ) throws(ClientError) {
        let drops = LogDrops()
        var own = options
        own.onDropped = { id, error in
            drops.add(id, Self.reason(of: error))
            options.onDropped?(id, error)
        }
        client = try HeadgateClient(socketPath: socketPath, name: program, version: version, options: own)
        (self.event, self.drops) = (event, drops)
    }

    /// The default options, except that calls wait for the first connection without an end.
    public static var defaultOptions: ClientOptions {
        var options = ClientOptions()
        options.connectTimeout = nil
        return options
    }

    /// The number of records dropped so far, by reason.
    public var dropped: [String: Int] { drops.all }

    /// Waits until all records are acknowledged, or until the limit is over.
    /// - Returns: the number of records that are not acknowledged yet.
    @discardableResult
    public func drain(within limit: Duration = .seconds(2)) async -> Int {
        reportDrops()
        return await client.drain(within: limit)
    }

    /// Drains, closes the client, and writes the number of unreported drops to standard error.
    /// - Returns: the number of records that were not acknowledged.
    @discardableResult
    public func close(within limit: Duration = .seconds(2)) async -> Int {
        reportDrops()
        let left = await client.close(within: limit)
        let reasons = drops.take()?.reasons ?? [:]
        if !reasons.isEmpty {
            let text = reasons.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
            FileHandle.standardError.write(Data("headgate: log records dropped: \(text)\n".utf8))
        }
        return left
    }

    /// Tracks a record.
    /// - Parameter data: makes the data of the event. It may log in turn.
    func track(_ data: () -> DataObject) {
        let nesting = HeadgateLog.nesting
        guard nesting < HeadgateLog.mostNested else { return drops.add("nested") }
        let now = Timestamp(date: Date())
        let made = HeadgateLog.$nesting.withValue(nesting + 1, operation: data)
        guard reportDrops() else { return drops.add("buffer_full") }
        client.trackSoon(OutgoingEvent(event, data: made, time: now))
    }

    /// Tracks an event that reports the dropped records.
    /// - Returns: false if there is no room for it.
    @discardableResult
    private func reportDrops() -> Bool {
        guard let report = drops.take() else { return true }
        let data: DataObject = [
            "count": .number(DataNumber(report.reasons.values.reduce(0, +))),
            "reasons": .object(
                DataObject(report.reasons.sorted { $0.key < $1.key }.map { ($0.key, .number(DataNumber($0.value))) })),
            "since": .string(report.since.text),
        ]
        // If it is dropped itself, `onDropped` counts them again.
        return client.trackSoon("\(event).dropped", data: data, id: report.id)
    }

    private static func reason(of error: any Error) -> String {
        switch error as? ClientError {
        case .refused(let error): error.data.get(key: "reason") ?? "refused"
        case .noRoom: "buffer_full"
        case .cannotConnect: "cannot_connect"
        case .disconnected: "disconnected"
        case .timedOut: "timed_out"
        case .closed: "closed"
        case .badAnswer: "bad_answer"
        case .cannotStart, nil: "refused"
        }
    }
}

/// The counts of dropped records.
private final class LogDrops: Sendable {
    /// Dropped records that an event reports.
    struct Report {
        /// The event's id.
        let id: String
        /// The number of records by reason.
        let reasons: [String: Int]
        /// When the first of them was dropped.
        let since: Timestamp
    }

    private struct State {
        var unreported: [String: Int] = [:]
        var since = Timestamp(date: Date())
        var all: [String: Int] = [:]
        /// The last reports. The event of a report may still be dropped.
        var reports: [Report] = []
    }

    private static let keptReports = 64
    private let state = Mutex(State())

    var all: [String: Int] { state.withLock { $0.all } }

    func add(_ reason: String) {
        state.withLock { state in
            if state.unreported.isEmpty { state.since = Timestamp(date: Date()) }
            state.unreported[reason, default: 0] += 1
            state.all[reason, default: 0] += 1
        }
    }

    /// Counts a dropped event: a record, or a report, whose records are then reported again.
    func add(_ id: String, _ reason: String) {
        let isReport = state.withLock { state in
            guard let index = state.reports.firstIndex(where: { $0.id == id }) else { return false }
            let report = state.reports.remove(at: index)
            state.since = report.since
            state.unreported.merge(report.reasons, uniquingKeysWith: +)
            return true
        }
        if !isReport { add(reason) }
    }

    /// Returns a report of the drops since the last report, or nil if there are none.
    func take() -> Report? {
        state.withLock { state in
            guard !state.unreported.isEmpty else { return nil }
            let report = Report(id: UUID().uuidString.lowercased(), reasons: state.unreported, since: state.since)
            state.unreported = [:]
            state.reports = state.reports.suffix(LogDrops.keptReports - 1) + [report]
            return report
        }
    }
}

extension Timestamp {
    fileprivate init(date: Date) {
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1_000).rounded()))
    }
}
