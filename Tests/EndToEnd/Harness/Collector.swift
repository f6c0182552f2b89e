import Foundation
import Synchronization

/// A small HTTP/1.1 server in the test process. It answers by a script and records every request.
final class Collector: Sendable {
    struct State {
        var requests: [CollectedRequest] = []
        var script: [ScriptedAnswer] = []
        var otherwise = ScriptedAnswer.accepted
        var isReleased = false
        var readingPace: Duration?
        var listener: Int32?
        var connections: Set<Int32> = []
        var connectionCount = 0
    }

    let state = Mutex(State())
    let port: UInt16
    private let address: CollectorAddress
    /// A bound socket that never listens. It keeps the port reserved while the collector is down.
    private let reservation: Int32

    /// Reserves a free port, which refuses connections until `listen()`.
    init(at address: CollectorAddress = CollectorAddress()) throws {
        self.address = address
        reservation = try Self.bound(to: 0, at: address, isShared: false)
        // Sharing is set only now: with sharing on both, the system may give a free port to two sockets.
        Self.share(reservation)
        port = try Self.port(of: reservation)
    }

    // MARK: Answers

    /// Sets the answers to the next requests, in order. Later requests get the default answer.
    func answerNext(_ answers: ScriptedAnswer...) {
        state.withLock { $0.script += answers }
    }

    /// Sets the default answer, for requests that the script does not cover.
    func answerAlways(_ answer: ScriptedAnswer) {
        state.withLock { $0.otherwise = answer }
    }

    /// Sends all held answers, and holds no later ones.
    func release() {
        state.withLock { $0.isReleased = true }
    }

    /// Reads one byte per interval, or everything that is available if `pace` is nil.
    func read(atPace pace: Duration?) {
        state.withLock { $0.readingPace = pace }
    }

    // MARK: Received requests

    var requests: [CollectedRequest] { state.withLock { $0.requests } }

    /// The number of connections accepted so far.
    var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// The requests that were answered with 2xx.
    var accepted: [CollectedRequest] { requests.filter { (200..<300).contains($0.status) } }

    /// The ids of all accepted events in order of arrival, including duplicates.
    var acceptedIDs: [String] { accepted.flatMap(\.ids) }

    /// Waits until `count` requests have arrived, answered or not.
    @discardableResult
    func requests(atLeast count: Int) async throws -> [CollectedRequest] {
        try await eventually("\(count) requests at the collector") { requests.count >= count ? requests : nil }
    }

    /// Waits until `count` events were accepted, including duplicates, and returns their ids.
    @discardableResult
    func acceptedIDs(atLeast count: Int) async throws -> [String] {
        do {
            return try await eventually("\(count) delivered events") {
                let ids = acceptedIDs
                return ids.count >= count ? ids : nil
            }
        } catch let vain as NeverHappened {
            throw NeverHappened(vain.what, details: "\(acceptedIDs.count) came in \(requests.count) requests")
        }
    }

    // MARK: Address

    var endpoint: String { "http://\(address.address):\(port)/events" }

    /// Settings of a dispatcher that sends to this collector, with short waits after failures.
    func dispatcher(_ more: JSON = [:]) -> JSON {
        let defaults: JSON = [
            "kind": "http", "endpoint": .string(endpoint), "backoff": ["base_ms": 20, "cap_ms": 100],
            "annotate_queued": false,
        ]
        return defaults.merging(more)
    }

    func listen() throws {
        let listener = try Self.bound(to: port, at: address, isShared: true)
        _ = try SystemError.check(Glibc.listen(listener, 64), "listen")
        state.withLock { $0.listener = listener }
        Thread.detachNewThread { self.accept(on: listener) }
    }

    /// Stops listening and closes every connection. The port stays reserved and refuses connections.
    func goDown() {
        state.withLock { state in
            if let listener = state.listener { shutdown(listener, Int32(SHUT_RDWR)) }
            state.listener = nil
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    func discard() {
        release()
        read(atPace: nil)
        goDown()
        close(reservation)
    }

    private func accept(on listener: Int32) {
        defer { close(listener) }
        while true {
            let connection = Glibc.accept(listener, nil, nil)
            if connection < 0, errno == EINTR { continue }
            guard connection >= 0 else { return }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            Thread.detachNewThread { CollectorConnection(connection, of: self).serve() }
        }
    }

    private static func share(_ descriptor: Int32) {
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func bound(to port: UInt16, at listening: CollectorAddress, isShared: Bool) throws -> Int32 {
        let descriptor = try listening.socket()
        if isShared { share(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(listening.address)
        let answer = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        _ = try SystemError.check(answer, "bind to port \(port) of \(listening.address)")
        return descriptor
    }

    private static func port(of descriptor: Int32) throws -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let answer = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        _ = try SystemError.check(answer, "getsockname")
        return UInt16(bigEndian: address.sin_port)
    }
}

/// An HTTP request received by a collector.
struct CollectedRequest: Sendable {
    let method: String
    let target: String
    /// Header values by lower-case name.
    let headers: [String: String]
    let bytes: [UInt8]
    /// The events of the body. They are parsed once, since waiting tests read them repeatedly.
    let events: [JSON]
    /// The ids of the events.
    let ids: [String]
    /// The status of the answer, or 0 if there is no answer (yet).
    var status = 0

    init(method: String, target: String, headers: [String: String], body: [UInt8]) {
        self.method = method
        self.target = target
        self.headers = headers
        bytes = body
        events = ((try? JSON(parsing: String(decoding: body, as: UTF8.self))) ?? .null).elements
        ids = events.compactMap { $0["id"].string }
    }

    /// The body as text.
    var body: String { String(decoding: bytes, as: UTF8.self) }

    /// The JSON text of each event in the body. Every event begins with its id.
    var rawEvents: [String] {
        let body = body
        guard body.hasPrefix("[{"), body.hasSuffix("}]") else { return [] }
        let parts = body.dropFirst().dropLast().split(separator: ",{\"id\":", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0.offset == 0 ? String($0.element) : "{\"id\":" + $0.element }
    }
}

/// The collector's reaction to one request.
struct ScriptedAnswer: Sendable {
    var status = 200
    var headers: [String] = []
    var body = ""
    /// The delay before the answer.
    var delay = Duration.zero
    /// The interval between bytes, if the answer is written byte by byte.
    var pace = Duration.zero
    /// True if the answer waits for `Collector.release()`.
    var isHeld = false
    /// True if the connection is closed instead of answered.
    var hangsUp = false

    static let accepted = ScriptedAnswer()
    static let held = ScriptedAnswer(isHeld: true)
    static func status(_ status: Int) -> ScriptedAnswer { ScriptedAnswer(status: status) }
}

/// The address that a collector listens at.
struct CollectorAddress: Sendable {
    /// An IPv4 address.
    var address = "127.0.0.1"
    /// The network namespace that has the address, or nil for the test's own.
    var namespace: NetworkNamespace?

    /// Creates a socket in that namespace.
    func socket() throws -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let open = { @Sendable in try SystemError.check(Glibc.socket(AF_INET, kind, 0), "socket") }
        return try namespace?.inside(open) ?? open()
    }
}
