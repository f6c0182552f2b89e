import CProbe
import Glibc
import HeadgateData

extension SocketFacts {
    /// Returns the facts about a path on this machine, for the user of this process.
    static func ofMachine(_ path: String) -> SocketFacts {
        var facts = SocketFacts(path: path, fileKind: .nothing, user: Names.user(geteuid()))
        var status = stat()
        guard stat(path, &status) == 0 else {
            let code = errno
            if code != ENOENT { facts.fileKind = .unreachable(why: String(cString: strerror(code))) }
            return facts
        }
        facts.fileKind = status.st_mode & S_IFMT == S_IFSOCK ? .socket : .somethingElse
        facts.mayConnect = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0
        facts.group = Names.group(status.st_gid)
        return facts
    }
}

/// The process that listens on a socket.
struct RunningDaemon {
    let process: pid_t

    /// Finds the process. Returns nil if no process listens.
    init?(listeningAt path: String) {
        process = hg_probe_listener(path)
        guard process > 0 else { return nil }
    }

    /// The most descriptors that the process may have.
    var descriptors: Int? {
        TextFile.lines(of: "/proc/\(process)/limits").first { $0.hasPrefix("Max open files") }
            .flatMap { $0.split(separator: " ").dropFirst(3).first }.flatMap { Int($0) }
    }

    /// The process's data directory, found by the daemon's lock file. Only the daemon's user and root can read it.
    var dataDirectory: String? {
        guard let entries = opendir("/proc/\(process)/fd") else { return nil }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let path = realpath("/proc/\(process)/fd/\(name)", nil) else { continue }
            defer { free(path) }
            let text = String(cString: path)
            if text.hasSuffix("/headgate.lock") { return String(text.dropLast("/headgate.lock".count)) }
        }
        return nil
    }
}

extension MachineFacts {
    private static let defaultConnections = 4_096

    static func ofMachine(_ daemon: RunningDaemon?, _ settings: DataObject) -> MachineFacts {
        let limits = settings.get(key: "limits", as: DataObject.self)
        let directory = settings.get(key: "data_dir") ?? daemon?.dataDirectory
        var time = timeval()
        gettimeofday(&time, nil)
        return MachineFacts(
            disk: directory.flatMap(Disk.init(ofMachine:)), descriptors: daemon?.descriptors,
            connections: limits?.get(key: "max_connections") ?? defaultConnections, isClockKept: isClockKept,
            year: CivilDate(daysSince1970: time.tv_sec / 86_400).year, freeMemory: freeMemory)
    }

    private static var isClockKept: Bool? {
        let answer = hg_probe_clock()
        return answer < 0 ? nil : answer == 1
    }

    private static var freeMemory: Int? {
        TextFile.lines(of: "/proc/meminfo").first { $0.hasPrefix("MemAvailable:") }
            .flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int($0) }.map { $0 * 1_024 }
    }
}

extension MachineFacts.Disk {
    /// Reads the facts. Returns nil if there is no such directory.
    fileprivate init?(ofMachine directory: String) {
        var disk = hg_probe_disk()
        guard hg_probe_find_disk(directory, &disk) == 1 else { return nil }
        self.init(
            directory: directory, freeBytes: Int(disk.free_bytes), totalBytes: Int(disk.total_bytes),
            freeFiles: Int(disk.free_files), kind: Int(disk.kind), isReadOnly: disk.is_read_only == 1)
    }
}

extension Destination {
    /// Tries to connect to the destination.
    func tried(sending: Bool, for milliseconds: Int) -> Outcome {
        let words = [
            url, unixSocket, caFile, certFile, keyFile, sending ? emptyBatch?.body : nil, emptyBatch?.contentType,
        ]
        let texts = words.map { $0.map { strdup($0) } }
        defer { for text in texts { free(text ?? nil) } }
        func text(_ index: Int) -> UnsafePointer<CChar>? { texts[index]?.map { UnsafePointer($0) } }
        var probe = hg_probe(
            url: text(0), unix_socket: text(1), ca_file: text(2), cert_file: text(3), key_file: text(4), body: text(5),
            content_type: text(6), timeout_ms: milliseconds)
        let outcome = hg_probe_run(&probe)
        switch outcome.kind {
        case HG_PROBE_REACHED: return .reached(status: outcome.status == 0 ? nil : outcome.status)
        case HG_PROBE_FAILED:
            return .failed(
                withUnsafeBytes(of: outcome.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        default: return .cannotTry
        }
    }
}

/// Reads small text files, also those of the kernel.
enum TextFile {
    private static let most = 4 << 20

    /// Returns the contents of a file, or nil if it cannot be read.
    static func bytes(of path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < most {
            let count = read(descriptor, &piece, piece.count)
            guard count >= 0 else { return nil }
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return bytes
    }

    static func lines(of path: String) -> [Substring] {
        String(decoding: bytes(of: path) ?? [], as: UTF8.self).split(separator: "\n")
    }
}

/// Finds the names of users and groups.
private enum Names {
    static func user(_ id: uid_t) -> String { getpwuid(id).map { String(cString: $0.pointee.pw_name) } ?? "user \(id)" }
    static func group(_ id: gid_t) -> String { getgrgid(id).map { String(cString: $0.pointee.gr_name) } ?? "\(id)" }
}
