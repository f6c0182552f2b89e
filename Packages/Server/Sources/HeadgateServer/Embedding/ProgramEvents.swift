import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// The acknowledgement of an event of the program's own (Behaviour P1).
public struct AcknowledgedEvent: Sendable, Equatable {
    /// The event's id.
    public let id: String
    /// The event's place among all events of the server; nil if it is unrouted.
    public let sequenceNumber: UInt64?
    /// True if the server had the event already, so that it stored nothing (Behaviour Q7).
    public let isDuplicate: Bool
    /// True if no dispatcher wants the event, so that it was not stored (Behaviour P3).
    public let isUnrouted: Bool

    init(_ result: DataObject) {
        id = result.get(key: "id") ?? ""
        sequenceNumber = result.get(key: "seq", as: Int.self).flatMap(UInt64.init(exactly:))
        isDuplicate = result.get(key: "duplicate") ?? false
        isUnrouted = result.get(key: "unrouted") ?? false
    }
}

extension Server {
    /// Tracks an event of the program's own, and waits until it is stored (Behaviour P1). It goes the same way as an event that
    /// comes over the socket, under the same limits; its context is that of this process.
    /// - Parameters:
    ///   - event: its name, not empty.
    ///   - data: what there is to say about it.
    ///   - id: the id by which the event is told apart from all others; nil has the server make one.
    ///   - key: events of one key are delivered in their order (Behaviour Q2).
    ///   - time: when it happened, if that is not now.
    ///   - dispatchers: the ids of the dispatchers that it is for; nil is for all that want it.
    ///   - timeToLive: how long after its receipt it is worth delivering.
    /// - Throws: why the event was not stored, by its `reason`: `queue_full`, `storage`, `event_too_large`, and
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
        guard let service else { throw RPCError(.shuttingDown) }
        let answer = await withCheckedContinuation { continuation in
            service.programEvents.call("track", params) { continuation.resume(returning: $0) }
        }
        return AcknowledgedEvent(try answer.get())
    }
}

/// The program's own events: a session like that of a client, without a socket. It lives on the scheduler.
final class ProgramEvents: SessionConnection {
    typealias Completion = (Result<DataObject, RPCError>) -> Void

    let peer = PeerCredentials(pid: getpid(), uid: geteuid(), gid: getegid(), groups: [])
    private(set) var isOpen = true
    private unowned let service: Service
    private var session: Session?
    private let decoder = MessageDecoder(maxDepth: JSONScanner.greatestDepth)
    private var framer = LineFramer(maxLineBytes: .max)
    private var completions: [Int64: Completion] = [:]
    private var lastNumber: Int64 = 0
    /// Requests that the session does not take yet.
    private var waiting: [[UInt8]] = []
    private var isPaused = false
    private var isFeeding = false

    /// A reader looks at so many bytes behind a text.
    private static let padding = 64

    init(service: Service) {
        self.service = service
    }

    /// Makes a request, and calls `completion` once with its answer.
    func call(_ method: String, _ params: DataObject, _ completion: @escaping Completion) {
        guard isOpen, !service.gate.isStopping else { return completion(.failure(RPCError(.shuttingDown))) }
        if session == nil { service.accept(self) }
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
        for completion in left { completion(.failure(RPCError(.shuttingDown))) }
        guard let former = session else { return }
        session = nil
        // Later, as a socket does it: the session may be in the middle of something.
        service.scheduler.nextTurn { former.connectionClosed() }
    }

    // MARK: What the session asks of its connection

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
            framer.lend(UnsafeRawBufferPointer(rebasing: padded[..<bytes.count]))
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
