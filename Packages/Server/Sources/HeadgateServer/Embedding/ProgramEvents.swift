import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// The acknowledgement of an event that the embedding program tracked (Behaviour P1).
public struct AcknowledgedEvent: Sendable, Equatable {
    /// The event's ID.
    public let id: String
    /// The event's sequence number, or nil if the event is unrouted.
    public let sequenceNumber: UInt64?
    /// True if the server had the event already, so that it stored nothing (Behaviour Q7).
    public let isDuplicate: Bool
    /// True if no dispatcher accepts the event, so that it was not stored (Behaviour P3).
    public let isUnrouted: Bool

    init(_ result: DataObject) {
        id = result.get(key: "id") ?? ""
        sequenceNumber = result.get(key: "seq", as: Int.self).flatMap(UInt64.init(exactly:))
        isDuplicate = result.get(key: "duplicate") ?? false
        isUnrouted = result.get(key: "unrouted") ?? false
    }
}

extension Server {
    /// Tracks an event of the embedding program and waits until it is stored (Behaviour P1). The event passes the same
    /// steps and limits as an event from the socket. Its context describes this process.
    /// - Parameters:
    ///   - event: the event's name, not empty.
    ///   - data: the event's data.
    ///   - id: the event's ID, or nil to let the server make one.
    ///   - key: events with the same key are delivered in order (Behaviour Q2).
    ///   - time: the time at which the event happened, or nil for now.
    ///   - dispatchers: the IDs of the dispatchers that may get the event, or nil for all.
    ///   - timeToLive: the time after the receipt for which the event is worth delivering.
    /// - Throws: the reason why the event was not stored: `queue_full`, `storage` or `event_too_large`, and
    ///   `shutting_down` before the start and after a stop.
    @discardableResult
    public func track(
        _ event: String, data: DataObject = [:], id: String? = nil, key: String? = nil, time: Timestamp? = nil,
        dispatchers: [String]? = nil, timeToLive: Duration? = nil
    ) async throws(RPCError) -> AcknowledgedEvent {
        var params: DataObject = ["event": .string(event), "data": .object(data)]
        params["id"] = id.map { .string($0) }
        params["key"] = key.map { .string($0) }
        params["time"] = time.map { .string($0.text) }
        params["dispatchers"] = dispatchers.map { .array($0.map { .string($0) }) }
        params["ttl_ms"] = timeToLive.map { .number(DataNumber(Int($0 / .milliseconds(1)))) }
        guard let service else { throw .notRunning }
        let answer = await withCheckedContinuation { continuation in
            service.programEvents.call("track", params) { continuation.resume(returning: $0) }
        }
        return AcknowledgedEvent(try answer.get())
    }
}

extension RPCError {
    /// The error of a connection above the limits (Behaviour X2).
    static let tooManyConnections = RPCError(
        .limit, "too many connections: see limits.max_connections and max_connections_per_uid in the settings")
    /// The error of an event that is tracked before the start or after a stop.
    fileprivate static let notRunning = RPCError(.shuttingDown, "the server is not running")
}

/// The connection without a socket over which the embedding program tracks its events. It lives on the scheduler.
final class ProgramEvents: SessionConnection {
    typealias Completion = (Result<DataObject, RPCError>) -> Void

    let peer = PeerCredentials(pid: getpid(), uid: geteuid(), gid: getegid(), groups: [])
    private(set) var isOpen = false
    private unowned let service: Service
    private var session: Session?
    private let decoder = MessageDecoder(maxDepth: JSONScanner.greatestDepth)
    private var framer = LineFramer(maxLineBytes: .max)
    private var completions: [Int64: Completion] = [:]
    private var lastNumber: Int64 = 0
    /// Requests that the session is not ready to read.
    private var waiting: [[UInt8]] = []
    private var isPaused = false
    private var isFeeding = false

    /// The number of readable bytes that the JSON scanner needs behind a text.
    private static let padding = 64

    init(service: Service) {
        self.service = service
    }

    /// Sends a request to the session. Calls `completion` exactly once, with the answer.
    func call(_ method: String, _ params: DataObject, _ completion: @escaping Completion) {
        guard !service.gate.isStopping else { return completion(.failure(.notRunning)) }
        if session == nil {
            isOpen = true
            service.accept(self)
            guard session != nil else { return completion(.failure(.tooManyConnections)) }
        }
        lastNumber += 1
        completions[lastNumber] = completion
        var writer = JSONWriter()
        writer.request(id: lastNumber, method: method, params: params)
        writer.endLine()
        waiting.append(writer.bytes)
        feed()
    }

    private func feed() {
        guard !isFeeding, let session else { return }
        isFeeding = true
        defer { isFeeding = false }
        while !isPaused, isOpen, !waiting.isEmpty {
            let line = waiting.removeFirst()
            let padded = line + [UInt8](repeating: 0, count: ProgramEvents.padding)
            padded.withUnsafeBytes { session.took(UnsafeRawBufferPointer(rebasing: $0[..<line.count])) }
        }
    }

    private func take(_ message: IncomingMessage) {
        guard case .response(let response) = message, let number = response.id.int,
            let completion = completions.removeValue(forKey: number)
        else { return }
        switch response.outcome {
        case .result(let result): completion(.success(DataObject(result)))
        case .failure(let error): completion(.failure(error))
        }
    }

    private func end() {
        guard isOpen else { return }
        isOpen = false
        let left = completions.sorted { $0.key < $1.key }.map(\.value)
        (completions, waiting) = ([:], [])
        for completion in left { completion(.failure(.notRunning)) }
        guard let former = session else { return }
        session = nil
        // In the next turn, as with a socket: the session may be in the middle of a call.
        service.scheduler.nextTurn { former.connectionClosed() }
    }

    // MARK: The session's connection

    var isWritable: Bool { isOpen }
    var outputBytes: Int { 0 }
    var lastOutputProgress: Int64 { service.scheduler.now.nanoseconds }

    func begin(_ session: Session) { self.session = session }

    func pauseReading() { isPaused = true }

    func resumeReading() {
        isPaused = false
        service.scheduler.nextTurn { [weak self] in self?.feed() }
    }

    func write(_ bytes: [UInt8]) {
        let padded = bytes + [UInt8](repeating: 0, count: ProgramEvents.padding)
        padded.withUnsafeBytes { padded in
            framer.borrow(UnsafeRawBufferPointer(rebasing: padded[..<bytes.count]))
            while case .text(let line)? = framer.next() {
                switch decoder.decode(line) {
                case .message(let message): take(message)
                case .batch(let messages): messages.forEach(take)
                }
            }
            framer.keepRest()
        }
    }

    func close() { end() }

    func closeAfterFlush() { end() }
}
