import HeadgateTransport

/// The sockets at which clients come in.
struct Listening {
    private var listeners: [UnixListener] = []

    /// Opens the socket at a path, or takes over those that a service manager has opened.
    /// - Parameter accept: called on the loop for each client.
    mutating func begin(
        at path: String, inherited: [Int32], on loop: EventLoop, log: Log, accept: @escaping (Connection) -> Void
    ) throws(StartFault) {
        do throws(TransportError) {
            for descriptor in inherited {
                listeners.append(try UnixListener(fileDescriptor: descriptor, on: loop, onConnection: accept))
            }
            if listeners.isEmpty { listeners.append(try UnixListener(path: path, on: loop, onConnection: accept)) }
        } catch {
            throw StartFault("\(error)")
        }
        for listener in listeners {
            listener.onError = { log.tell(.connectionFailed, ["cause": .string("\($0)")]) }
        }
    }

    /// Takes no more clients.
    func end() {
        for listener in listeners { listener.close() }
    }
}
