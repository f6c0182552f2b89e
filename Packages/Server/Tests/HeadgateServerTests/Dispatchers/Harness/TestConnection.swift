import Foundation

/// A server's side of one connection, blocking.
struct TestConnection {
    let socket: Int32

    init(_ socket: Int32) {
        self.socket = socket
    }

    /// The next whole request; nil at the end.
    func request(_ number: Int) -> ReceivedRequest? {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = read(1)?.first else { return nil }
            bytes.append(byte)
        }
        guard var request = ReceivedRequest(head: bytes, connection: number) else { return nil }
        let length = request.headers["content-length"].flatMap { Int($0) } ?? 0
        guard let body = read(length) else { return nil }
        request.body = body
        return request
    }

    /// Whether the connection is to be kept.
    func send(_ reply: ScriptedReply) -> Bool {
        switch reply {
        case .bytes(let text):
            return send(text)
        case .last(let text):
            _ = send(text)
            return false
        case .endless(let head, let again):
            guard send(head) else { return false }
            while send(again) {}
            return false
        case .silence:
            while read(1) != nil {}
            return false
        }
    }

    private func send(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Exactly so many bytes; nil when the other side ends before.
    private func read(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var piece = [UInt8](repeating: 0, count: count - bytes.count)
            let got = recv(socket, &piece, piece.count, 0)
            guard got > 0 else { return nil }
            bytes += piece.prefix(got)
        }
        return bytes
    }
}
