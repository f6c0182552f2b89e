import Glibc
import HeadgateClient
import HeadgateData
import HeadgateTransport

extension Command {
    /// The command `headgate backup`.
    static let backup = Command(
        name: "backup", summary: "Copy the store to a new directory, or as a tar archive to standard output.",
        operands: [Operand("DIR|-")], options: [.json],
        notes: """
            The daemon keeps running. `headgated --data DIR` starts on the copy as it is. Events that the daemon delivers
            after the copy was made are pending in the copy, and are sent again. The copy has the events of all users, so that
            the command needs the right `read`. It does not contain the configuration.

            DIR must not exist, or be empty. It appears when the copy is whole.
            """
    ) { invocation in
        let path = invocation.arguments.operands[0]
        guard path == "-" else {
            let copy = try BackupDirectory(path)
            let size = try Backup(invocation, into: copy).run()
            try invocation.show(
                ["directory": .string(path), "bytes": .number(DataNumber(size))],
                else: "The backup in \(path) is complete: \(size) bytes.\n")
            return .success
        }
        guard !invocation.terminal.showsOutput else {
            throw UsageError(
                message: "backup: standard output is a terminal; write the archive to a file", command: "backup")
        }
        _ = try Backup(invocation, into: BackupArchive(invocation.terminal)).run()
        return .success
    }
}

/// The destination of a backup. It gets whole files, one after the other.
private protocol BackupTarget: AnyObject {
    func put(_ content: [UInt8], _ name: String) throws
    /// Ends the backup, which is whole now.
    func finish() throws
    /// Removes the incomplete backup.
    func discard()
}

/// Copies the store piece by piece. One file is in memory at a time.
private final class Backup {
    private let target: any BackupTarget
    private let loop: EventLoop
    private let connection: ClientConnection
    private var file: (name: String, content: [UInt8])?
    private var size = 0
    private var fault: (any Error)?

    init(_ invocation: Invocation, into target: any BackupTarget) throws {
        self.target = target
        loop = try EventLoop()
        // A backup ends with its connection.
        connection = invocation.connection(on: loop, reconnectingFor: .zero)
    }

    /// - Returns: the bytes of the copy.
    func run() throws -> Int {
        ask(nil)
        loop.run()
        guard let fault else { return size }
        target.discard()
        throw fault
    }

    private func ask(_ id: String?) {
        let params: DataObject = id.map { ["backup": .string($0)] } ?? [:]
        connection.call("store.backup", params) { [self] result in
            do {
                guard let piece = Piece(try result.get().item) else {
                    throw ClientError.badAnswer("the daemon's answer is not a piece of a backup")
                }
                try take(piece)
                guard piece.isLast else { return ask(piece.backup) }
                try endFile()
                try target.finish()
                stop(nil)
            } catch {
                stop(error)
            }
        }
    }

    private func take(_ piece: Piece) throws {
        guard !piece.bytes.isEmpty else { return }
        if file?.name != piece.file { try endFile() }
        guard piece.offset == file?.content.count ?? 0 else {
            throw ClientError.badAnswer("a piece of the backup is missing")
        }
        if file == nil { file = (piece.file, []) }
        file?.content += piece.bytes
        size += piece.bytes.count
    }

    private func endFile() throws {
        guard let ended = file else { return }
        file = nil
        try target.put(ended.content, ended.name)
    }

    private func stop(_ fault: (any Error)?) {
        self.fault = fault
        connection.close()
        loop.stop()
    }

    /// A piece of a backup.
    private struct Piece {
        let backup: String
        let file: String
        let offset: Int
        let bytes: [UInt8]
        let isLast: Bool

        init?(_ item: DataItem) {
            guard case .object(let answer) = item, let backup: String = answer.get(key: "backup"),
                let file: String = answer.get(key: "file"), BackupName.isSafe(file),
                let offset: Int = answer.get(key: "offset"), let data: String = answer.get(key: "data"),
                let bytes = Base64.decode(data), let isLast: Bool = answer.get(key: "end")
            else { return nil }
            (self.backup, self.file, self.offset, self.bytes, self.isLast) = (backup, file, offset, bytes, isLast)
        }
    }
}

/// The names of the files of a backup.
private enum BackupName {
    /// The directory of all files of a backup.
    static let folder = "log"

    /// Returns true if a name is that of a file in the directory.
    static func isSafe(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0] == folder && parts[1].hasSuffix(".log") && !parts[1].hasPrefix(".")
    }
}

/// A tar archive on the output.
private final class BackupArchive: BackupTarget {
    private let terminal: Terminal
    private let seconds = time(nil)
    private var isBegun = false

    init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    func put(_ content: [UInt8], _ name: String) throws {
        if !isBegun { try terminal.write(bytes: TarArchive.directory(BackupName.folder, at: seconds)) }
        isBegun = true
        try terminal.write(bytes: TarArchive.file(name, content, at: seconds))
    }

    func finish() throws { try terminal.write(bytes: TarArchive.end) }

    /// An archive without its end is refused by tar.
    func discard() {}
}

/// A new directory. The copy is made beside it, and gets its name when it is whole.
private final class BackupDirectory: BackupTarget {
    private let path: String
    private let partial: String
    private var files: [String] = []

    init(_ path: String) throws {
        self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        partial = self.path + ".partial-\(getpid())"
        try refuseContent()
        try check(mkdir(partial, 0o700) == 0, "create", partial)
        try check(mkdir(partial + "/" + BackupName.folder, 0o700) == 0, "create", partial)
    }

    /// Refuses everything but an empty directory, which `rename` replaces at the end.
    private func refuseContent() throws {
        var facts = stat()
        guard lstat(path, &facts) == 0 else { return }
        if facts.st_mode & S_IFMT == S_IFDIR, let folder = opendir(path) {
            defer { closedir(folder) }
            // An empty directory has `.` and `..`.
            if (0..<3).count(where: { _ in readdir(folder) != nil }) == 2 { return }
        }
        throw BackupFailure(description: "\(path) already exists, and is not an empty directory")
    }

    func put(_ content: [UInt8], _ name: String) throws {
        let file = partial + "/" + name
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        try check(descriptor >= 0, "create", file)
        defer { close(descriptor) }
        files.append(file)
        try OutputDescriptor(number: descriptor).write(content)
        try check(fsync(descriptor) == 0, "sync", file)
    }

    func finish() throws {
        try sync(partial + "/" + BackupName.folder)
        try sync(partial)
        try check(rename(partial, path) == 0, "create", path)
        let end = path.lastIndex(of: "/")
        try sync(end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ".")
    }

    func discard() {
        for file in files { unlink(file) }
        rmdir(partial + "/" + BackupName.folder)
        rmdir(partial)
    }

    private func sync(_ directory: String) throws {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try check(descriptor >= 0, "open", directory)
        defer { close(descriptor) }
        try check(fsync(descriptor) == 0, "sync", directory)
    }

    private func check(_ isDone: Bool, _ verb: String, _ path: String) throws {
        guard !isDone else { return }
        throw BackupFailure(description: "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }
}

/// A backup that could not be written.
private struct BackupFailure: Error, CustomStringConvertible {
    let description: String
}
