import CCurl
import Glibc

/// The sockets of libcurl's connections, including those that it keeps for later requests.
///
/// Bytes that arrive before a request is sent are not its answer. Some servers send a 408 on a connection that was idle
/// for too long, and then close it. libcurl would accept that as the answer to the next request. So an idle connection
/// that has received bytes is shut down before the next request begins, and libcurl opens another.
final class OpenSockets {
    private var all: Set<curl_socket_t> = []
    /// The sockets with HTTP/2, on which a server may send at any time.
    private var multiplexed: Set<curl_socket_t> = []

    /// Adds a socket that libcurl has opened.
    func opened(_ socket: curl_socket_t) {
        all.insert(socket)
    }

    /// Notes whether the connection of a finished transfer uses HTTP/2.
    func ended(_ easy: UnsafeMutableRawPointer) {
        let socket = ccurl_multiplexed_socket(easy)
        if all.contains(socket) { multiplexed.insert(socket) }
    }

    /// Shuts down the idle connections that have received bytes or that the server has closed.
    /// - Parameter isBusy: returns true if a transfer uses the socket now.
    func shutDownUnclean(unless isBusy: (curl_socket_t) -> Bool) {
        var idle = all.subtracting(multiplexed).filter { !isBusy($0) }.map { socket in
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        }
        guard !idle.isEmpty, poll(&idle, nfds_t(idle.count), 0) > 0 else { return }
        for socket in idle where socket.revents != 0 { shutdown(socket.fd, Int32(SHUT_RDWR)) }
    }

    /// Sets this object as the closer of the handle's sockets. The object must outlive them.
    func follow(_ easy: UnsafeMutableRawPointer) -> CURLcode {
        ccurl_set_closer(easy, OpenSockets.closer, Unmanaged.passUnretained(self).toOpaque())
    }

    private func close(_ socket: curl_socket_t) -> Int32 {
        all.remove(socket)
        multiplexed.remove(socket)
        return Glibc.close(socket)
    }

    private static let closer: curl_closesocket_callback = { context, socket in
        // `follow` passes the pointer to libcurl, which returns it unchanged.
        Unmanaged<OpenSockets>.fromOpaque(context!).takeUnretainedValue().close(socket)
    }
}
