import Foundation
import Synchronization

/// A real HTTP server that answers as a test says, on a free port or a Unix socket, with one thread a connection.
final class ScriptedServer: Sendable {
    let port: UInt16

    private let listening: Int32
    private let answer: @Sendable (ReceivedRequest) -> ScriptedReply
    private let state = Mutex(State())

    private struct State {
        var requests: [ReceivedRequest] = []
        var connections: [Int32] = []
        var isStopped = false
    }

    init(unixSocket: String? = nil, _ answer: @escaping @Sendable (ReceivedRequest) -> ScriptedReply) throws {
        listening = try unixSocket.map(TestSocket.unix) ?? TestSocket.loopback()
        port = TestSocket.port(of: listening)
        self.answer = answer
        Thread.detachNewThread { self.accept() }
    }

    var url: String { "http://127.0.0.1:\(port)/events" }
    var requests: [ReceivedRequest] { state.withLock { $0.requests } }
    var connectionCount: Int { state.withLock { $0.connections.count } }

    func stop() {
        let open = state.withLock { state in
            state.isStopped = true
            return state.connections
        }
        for socket in open + [listening] { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    private func accept() {
        while true {
            let socket = Glibc.accept(listening, nil, nil)
            guard socket >= 0 else { break }
            let number = state.withLock { state -> Int? in
                guard !state.isStopped else { return nil }
                state.connections.append(socket)
                return state.connections.count - 1
            }
            guard let number else { break }
            Thread.detachNewThread { self.serve(TestConnection(socket), number) }
        }
        close(listening)
    }

    private func serve(_ connection: TestConnection, _ number: Int) {
        while let request = connection.request(number) {
            state.withLock { $0.requests.append(request) }
            guard connection.send(answer(request)) else { break }
        }
        // Not closed: its number must not be given to another while `stop` may still use it.
        shutdown(connection.socket, Int32(SHUT_RDWR))
    }
}
