import Glibc
import HeadgateTransport

/// The files that a dispatcher's requests need: secrets, certificates and keys. They are read anew for each request, on a
/// thread of their own and for so long only: neither the loop nor another dispatcher waits for a disk that hangs.
// Unchecked: it crosses to the thread as a reference only. Its state is touched on the loop alone.
final class RequestFiles: @unchecked Sendable {
    /// What is in the files that could be read, by their paths.
    typealias Contents = [String: [UInt8]]
    /// Reads a file of at most so many bytes; nil when that is not possible. Called on the thread.
    typealias Reader = @Sendable (_ path: String, _ limit: Int) -> [UInt8]?

    private let paths: [String]
    private let loop: EventLoop
    private let thread: EventLoop
    private let reader: Reader
    /// Those for whom the thread reads now, and those who came meanwhile: they get what is read after they have come.
    private var reading: [Waiter] = []
    private var waiting: [Waiter] = []
    private var isClosed = false

    /// The largest that one may be.
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

    /// Who waits for the files, until they are there or it has taken too long.
    private final class Waiter {
        private var timer: LoopTimer?
        private var then: ((Contents?) -> Void)?

        init(on loop: EventLoop, for longest: Duration, _ then: @escaping (Contents?) -> Void) {
            self.then = then
            timer = LoopTimer(on: loop) { [weak self] in self?.end(nil) }
            timer?.arm(after: longest)
        }

        func end(_ contents: Contents?) {
            let told = then
            (timer, then) = (nil, nil)
            told?(contents)
        }
    }

    /// Reads all of them; `then` is called on the loop, later: with nil when they could not be read in time.
    func read(within longest: Duration, then: @escaping (Contents?) -> Void) {
        waiting.append(Waiter(on: loop, for: longest, then))
        readNext()
    }

    /// Does not wait for the thread, which ends once the disk lets it. Nobody is told anything any more.
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
        let told = reading
        reading = []
        readNext()
        for waiter in told { waiter.end(contents) }
    }
}

extension HTTPSettings {
    /// The files that each request needs.
    var files: Set<String> {
        let secrets = headers.compactMap { header in
            if case .file(let path, _) = header.value { path } else { nil }
        }
        return Set(secrets + [tls.caFile, tls.certFile, tls.keyFile].compactMap(\.self))
    }
}

/// What the files of a dispatcher's `tls` hold, in PEM. libcurl gets the bytes: it would read files on the loop, and wait for
/// whatever they lie on.
struct TLSFiles: Equatable {
    /// Whom to trust; nil: the system's authorities.
    private(set) var authorities: [UInt8]?
    /// What to show a server that asks for it.
    private(set) var certificate: [UInt8]?
    /// The certificate's key; nil: it stands beside it.
    private(set) var key: [UInt8]?

    /// None: those of the system count.
    init() {}

    /// - Parameter contents: what could be read.
    init(_ settings: HTTPSettings.TLS, _ contents: RequestFiles.Contents) throws(Fault) {
        authorities = try settings.caFile.map { path throws(Fault) in try TLSFiles.bytes(path, contents, .authorities) }
        certificate = try settings.certFile.map { path throws(Fault) in try TLSFiles.bytes(path, contents, .certificate)
        }
        key = try settings.keyFile.map { path throws(Fault) in try TLSFiles.bytes(path, contents, .certificate) }
    }

    /// Which of the files cannot be used.
    enum Fault: Error {
        case authorities
        case certificate

        /// For people.
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

/// A file that is read whole and at once: a secret, for instance.
struct SmallFile {
    private let path: String

    init(_ path: String) {
        self.path = path
    }

    /// What is in it; nil if it cannot be read, is no regular file (which could block) or is longer than `limit`.
    func contents(upTo limit: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let bytes = Self.read(descriptor, upTo: limit + 1)
        return bytes.count <= limit ? bytes : nil
    }

    private static func read(_ descriptor: Int32, upTo most: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < most {
            let piece = readPiece(descriptor, upTo: min(most - bytes.count, longestPiece))
            if piece.isEmpty { break }
            bytes += piece
        }
        return bytes
    }

    /// Nothing at the end, or when it cannot be read on.
    private static func readPiece(_ descriptor: Int32, upTo most: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: most) { buffer, filled in
            filled = max(0, Glibc.read(descriptor, buffer.baseAddress, most))
        }
    }

    private static let longestPiece = 16 * 1024
}
