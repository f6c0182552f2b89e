import CNATS
import Glibc

/// libnats as a whole, of which a process has one.
enum NATSLibrary {
    /// Opens it, once; false when it has no threads to be had. It turns the signal for broken pipes off for the whole
    /// process, which here is for the program to say.
    static let isOpen: Bool = {
        let former = signal(SIGPIPE, SIG_IGN)
        let status = nats_Open(-1)
        signal(SIGPIPE, former)
        _ = BrokenPipe.isIgnored
        return status == NATS_OK
    }()
}
