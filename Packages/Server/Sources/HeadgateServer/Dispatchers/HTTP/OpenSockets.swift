import CCurl
import Glibc

/// The sockets of the connections that libcurl has, among them those that it keeps for later requests.
///
/// An answer that comes before its request is none: some servers send a 408 on a connection that was idle for too long, and
/// then close it. libcurl would take that for the answer to the next request. So an idle connection on which something has come
/// is shut down before the next request begins, and libcurl makes another.
final class OpenSockets {
    private var all: Set<curl_socket_t> = []
    /// The sockets that speak HTTP/2, where a server may send something at any time.
    private var multiplexed: Set<curl_socket_t> = []

    /// Notes a socket that libcurl has opened.
    func opened(_ socket: curl_socket_t) {
        all.insert(socket)
    }

    /// Notes what a finished transfer tells of its connection.
    func ended(_ easy: UnsafeMutableRawPointer) {
        let socket = ccurl_multiplexed_socket(easy)
        if all.contains(socket) { multiplexed.insert(socket) }
    }

    /// Shuts down the idle connections on which something has come, or which the other side has closed.
    /// - Parameter isBusy: says whether a transfer uses a socket now.
    func shutDownUnclean(unless isBusy: (curl_socket_t) -> Bool) {
        var idle = all.subtracting(multiplexed).filter { !isBusy($0) }.map { socket in
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        }
        guard !idle.isEmpty, poll(&idle, nfds_t(idle.count), 0) > 0 else { return }
        for socket in idle where socket.revents != 0 { shutdown(socket.fd, Int32(SHUT_RDWR)) }
    }

    /// Has libcurl close the sockets of a handle's connections here. The object must outlive them.
    func follow(_ easy: UnsafeMutableRawPointer) -> CURLcode {
        ccurl_set_closer(easy, OpenSockets.closer, Unmanaged.passUnretained(self).toOpaque())
    }

    private func close(_ socket: curl_socket_t) -> Int32 {
        all.remove(socket)
        multiplexed.remove(socket)
        return Glibc.close(socket)
    }

    private static let closer: curl_closesocket_callback = { context, socket in
        // `follow` hands it to libcurl, which hands it back as it is.
        Unmanaged<OpenSockets>.fromOpaque(context!).takeUnretainedValue().close(socket)
    }
}
