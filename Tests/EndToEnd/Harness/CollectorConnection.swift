import Foundation

/// A connection to a collector, served on its own thread.
struct CollectorConnection {
    private let descriptor: Int32
    private let collector: Collector
    private var input: [UInt8] = []

    init(_ descriptor: Int32, of collector: Collector) {
        self.descriptor = descriptor
        self.collector = collector
        collector.state.withLock { state in
            // The connection was accepted from a listener that was closed meanwhile.
            if state.listener == nil { shutdown(descriptor, Int32(SHUT_RDWR)) }
            state.connections.insert(descriptor)
            state.connectionCount += 1
        }
    }

    /// Reads and answers requests until the peer closes the connection or the script does.
    consuming func serve() {
        while let request = readRequest(), answer(request) {}
        collector.state.withLock { _ = $0.connections.remove(descriptor) }
        close(descriptor)
    }

    // MARK: Reading

    private mutating func readRequest() -> CollectedRequest? {
        guard let head = take(through: Array("\r\n\r\n".utf8)) else { return nil }
        var lines = head.components(separatedBy: "\r\n")
        let words = lines.removeFirst().components(separatedBy: " ")
        guard words.count == 3 else { return nil }
        let headers = Dictionary(lines.compactMap(Self.header)) { $1 }
        if headers["expect"] != nil { write("HTTP/1.1 100 Continue\r\n\r\n") }
        guard let body = take(count: Int(headers["content-length"] ?? "0") ?? 0) else { return nil }
        return CollectedRequest(method: words[0], target: words[1], headers: headers, body: body)
    }

    private static func header(_ line: String) -> (String, String)? {
        guard let colon = line.firstIndex(of: ":") else { return nil }
        let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        return (line[..<colon].lowercased(), value)
    }

    private mutating func take(through end: [UInt8]) -> String? {
        while true {
            if let found = input.firstRange(of: end) {
                defer { input.removeFirst(found.upperBound) }
                return String(decoding: input[..<found.lowerBound], as: UTF8.self)
            }
            guard readMore() else { return nil }
        }
    }

    private mutating func take(count: Int) -> [UInt8]? {
        while input.count < count {
            guard readMore() else { return nil }
        }
        defer { input.removeFirst(count) }
        return Array(input[..<count])
    }

    private mutating func readMore() -> Bool {
        let pace = collector.state.withLock { $0.readingPace }
        if let pace { sleep(pace) }
        var chunk = [UInt8](repeating: 0, count: pace == nil ? 65_536 : 1)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        input += chunk[..<count]
        return true
    }

    // MARK: Answering

    /// Records the request and answers it by the script. Returns false if the connection must be closed.
    private func answer(_ request: CollectedRequest) -> Bool {
        let (index, answer) = collector.state.withLock { state in
            state.requests.append(request)
            let answer = state.script.isEmpty ? state.otherwise : state.script.removeFirst()
            return (state.requests.count - 1, answer)
        }
        wait(for: answer)
        guard !answer.hangsUp else { return false }
        // The request is recorded before it is answered, so a test that sees the effect at the daemon also finds the
        // request here.
        collector.state.withLock { $0.requests[index].status = answer.status }
        let headers = (answer.headers + ["Content-Length: \(answer.body.utf8.count)"]).joined(separator: "\r\n")
        let text = "HTTP/1.1 \(answer.status) Scripted\r\n\(headers)\r\n\r\n\(answer.body)"
        guard answer.pace > .zero else { return write(text) }
        return text.allSatisfy { character in
            sleep(answer.pace)
            return write(String(character))
        }
    }

    private func sleep(_ duration: Duration) {
        usleep(UInt32(duration / .microseconds(1)))
    }

    private func wait(for answer: ScriptedAnswer) {
        let end = ContinuousClock.now + answer.delay
        while ContinuousClock.now < end || (answer.isHeld && !isReleased) { usleep(1_000) }
    }

    private var isReleased: Bool { collector.state.withLock { $0.isReleased } }

    @discardableResult
    private func write(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent > 0 else { return false }
            rest = rest.dropFirst(sent)
        }
        return true
    }
}
