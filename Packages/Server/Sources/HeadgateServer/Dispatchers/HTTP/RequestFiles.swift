import Glibc
import HeadgateTransport

/// The reader of the files that a dispatcher's requests need: secrets, certificates and keys. Its own thread reads the
/// files again for each request. So a disk that hangs delays neither the loop nor other dispatchers.
// Unchecked: the thread only passes the reference on. The loop alone uses the state.
final class RequestFiles: @unchecked Sendable {
    /// The contents of the readable files, by path.
    typealias Contents = [String: [UInt8]]
    /// Reads a file of at most `limit` bytes, on the thread. Returns nil if that fails.
    typealias Reader = @Sendable (_ path: String, _ limit: Int) -> [UInt8]?

    private let paths: [String]
    private let loop: EventLoop
    private let thread: EventLoop
    private let reader: Reader
    /// The requests for which the thread is reading now. Requests that come later wait for the next reading, so that
    /// they get current contents.
    private var reading: [Waiter] = []
    private var waiting: [Waiter] = []
    private var isClosed = false

    /// The most bytes of a file.
    static let longest = 4 << 20

    init(_ paths: Set<String>, loop: EventLoop, reader: @escaping Reader) throws(TransportError) {
        self.paths = paths.sorted()
        self.loop = loop
        self.reader = reader
        thread = try EventLoop.onNewThread(named: "headgate-files")
    }

    deinit {
        close()
    }

    /// A request that waits for the files until they are read or its time limit passes.
    private final class Waiter {
        private var timer: LoopTimer?
        private var then: ((Contents?) -> Void)?

        init(on loop: EventLoop, for longest: Duration, _ then: @escaping (Contents?) -> Void) {
            self.then = then
            timer = LoopTimer(on: loop) { [weak self] in self?.end(nil) }
            timer?.arm(after: longest)
        }

        func end(_ contents: Contents?) {
            let handler = then
            (timer, then) = (nil, nil)
            handler?(contents)
        }
    }

    /// Reads all files. Calls `then` on the loop after this method returns, with nil if the time limit passes first.
    func read(within longest: Duration, then: @escaping (Contents?) -> Void) {
        waiting.append(Waiter(on: loop, for: longest, then))
        readNext()
    }

    /// Stops the thread without waiting. The thread ends when the disk has answered. No callback is called after this.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        (reading, waiting) = ([], [])
        thread.stop()
    }

    private func readNext() {
        guard reading.isEmpty, !waiting.isEmpty else { return }
        (reading, waiting) = (waiting, [])
        thread.submit { [self, paths, reader] in
            var contents = Contents()
            for path in paths { contents[path] = reader(path, RequestFiles.longest) }
            loop.submit { [self, contents] in didRead(contents) }
        }
    }

    private func didRead(_ contents: Contents) {
        guard !isClosed else { return }
        let waiters = reading
        reading = []
        readNext()
        for waiter in waiters { waiter.end(contents) }
    }
}

extension HTTPSettings {
    /// The files that each request needs.
    var files: Set<String> { HTTPSettings.files(headers, tls) }

    /// Returns the files that headers and TLS settings name.
    static func files(_ headers: [Header], _ tls: TLS) -> Set<String> {
        let secrets = headers.compactMap { header in
            if case .file(let path, _) = header.value { path } else { nil }
        }
        return Set(secrets + [tls.caFile, tls.certFile, tls.keyFile].compactMap(\.self))
    }
}

/// The contents of the files of a dispatcher's `tls`, in PEM. libcurl gets the bytes, because it would read files on
/// the loop and block it.
struct TLSFiles: Equatable {
    /// The trusted certificate authorities, or nil for the system's.
    private(set) var authorities: [UInt8]?
    /// The client certificate, or nil.
    private(set) var certificate: [UInt8]?
    /// The key of the client certificate, or nil if the certificate's file contains it.
    private(set) var key: [UInt8]?

    /// Makes an empty value: the system's authorities apply.
    init() {}

    /// - Parameter contents: the contents of the readable files.
    init(_ settings: HTTPSettings.TLS, _ contents: RequestFiles.Contents) throws(Fault) {
        authorities = try settings.caFile.map { path throws(Fault) in try TLSFiles.bytes(path, contents, .authorities) }
        certificate = try settings.certFile.map { path throws(Fault) in try TLSFiles.bytes(path, contents, .certificate)
        }
        key = try settings.keyFile.map { path throws(Fault) in try TLSFiles.bytes(path, contents, .certificate) }
    }

    /// The file that cannot be used.
    enum Fault: Error {
        case authorities
        case certificate

        /// The fault as a text for people.
        var cause: String {
            switch self {
            case .authorities: "TLS: CA file not usable"
            case .certificate: "TLS: client certificate or key not usable"
            }
        }
    }

    private static func bytes(
        _ path: String, _ contents: RequestFiles.Contents, _ fault: Fault
    ) throws(Fault) -> [UInt8] {
        guard let bytes = contents[path], !bytes.isEmpty else { throw fault }
        return bytes
    }
}
