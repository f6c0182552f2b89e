import Glibc
import HeadgateTransport

/// The listening sockets of the daemon.
///
/// The daemon checks each second that the socket files exist. If another process removes or replaces a file, the daemon
/// opens a new socket at the path. Otherwise no new client could connect until a restart.
final class ListeningSockets {
    private var listeners: [UnixListener] = []
    private let log: Log
    private let accept: (Connection) -> Void
    /// The paths of inherited sockets whose files existed at the start.
    private var inheritedPaths: [String] = []
    private var timer: LoopTimer?
    /// A Boolean value that says whether the log has already reported that a file cannot be created.
    private var isLossLogged = false

    /// The time between two checks of the files.
    private static let interval = Duration.seconds(1)

    /// - Parameter accept: called on the loop for each new connection.
    init(log: Log, accept: @escaping (Connection) -> Void) {
        (self.log, self.accept) = (log, accept)
    }

    /// Uses the sockets that a service manager has opened. If there are none, opens a socket at the path, if there is a
    /// path.
    func begin(at path: String?, inherited: [Int32], on loop: EventLoop) throws(StartFault) {
        do throws(TransportError) {
            for descriptor in inherited {
                add(try UnixListener(fileDescriptor: descriptor, on: loop, onConnection: accept))
            }
            if listeners.isEmpty, let path { add(try UnixListener(path: path, on: loop, onConnection: accept)) }
        } catch {
            throw StartFault("\(error)")
        }
        inheritedPaths = inherited.compactMap(SocketActivation.path).filter(ListeningSockets.isThere)
        guard !listeners.isEmpty else { return }
        timer = LoopTimer(on: loop) { [weak self] in self?.checkFiles(on: loop) }
        timer?.arm(after: ListeningSockets.interval)
    }

    private func add(_ listener: UnixListener) {
        listener.onError = { [log] in log.write(.connectionFailed, ["cause": .string("\($0)")]) }
        listeners.append(listener)
    }

    private func checkFiles(on loop: EventLoop) {
        for listener in listeners where !listener.isInPlace {
            guard let path = listener.path, open(path, on: loop) else { continue }
            listener.close()
            listeners.removeAll { $0 === listener }
        }
        for path in inheritedPaths where !ListeningSockets.isThere(path) && open(path, on: loop) {
            inheritedPaths.removeAll { $0 == path }
        }
        timer?.arm(after: ListeningSockets.interval)
    }

    /// Opens a new socket at a path. Connections over the old socket stay.
    /// - Returns: false if that fails for now.
    private func open(_ path: String, on loop: EventLoop) -> Bool {
        do throws(TransportError) {
            add(try UnixListener(path: path, on: loop, waiting: false, onConnection: accept))
            isLossLogged = false
            log.write(.socketRenewed, ["socket": .string(path)])
            return true
        } catch {
            if !isLossLogged { log.write(.socketLost, ["socket": .string(path), "cause": .string("\(error)")]) }
            isLossLogged = true
            return false
        }
    }

    private static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Closes the listening sockets.
    func end() {
        timer = nil
        for listener in listeners { listener.close() }
    }
}
