import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `store.backup`.
struct BackupMethods: MethodFamily {
    let gate: Headgate
    let backups: ClientBackups
    let log: Log

    private static let backup = FamilyMethod<Self>(
        "store.backup", .read,
        "Returns the next piece of a consistent copy of the store, as files of a data directory. A connection makes one copy at a time.",
        Field(
            optional: "backup", .string(1...Limits.longestName),
            "the id of the copy, to continue it; by default, a new copy begins"),
        result: piece.schema, reasons: [.notFound, .conflict, .storage]
    ) { parts, call, id throws(RPCError) in
        let (caller, session) = (call.session.caller, call.session.number)
        let id = if let id { id } else { try parts.begin(for: session) }
        guard let running = parts.backups.running(id, of: session) else {
            throw RPCError(.notFound, "this connection has no backup \(id) in progress: begin another one")
        }
        running.backup.next { [reply = call.reply] result in
            switch result {
            case .success(let next):
                parts.note(next, of: running, caller, session)
                reply.answer(piece, (id, next))
            case .failure(let fault):
                parts.backups.end(of: session)
                reply.fail(RPCError(.storage, "the backup ended: \(fault.message); begin it again"))
            }
        }
    }

    private static let piece = OutputShape<(backup: String, piece: BackupPiece)>.object([
        .required("backup", .name, \.backup, "the id of the copy"),
        .required(
            "file", .text, \.piece.file, "the file's path in the data directory; the pieces of a file follow each other"
        ),
        .required("offset", .count, \.piece.offset, "the offset of the piece in the file"),
        .required("data", .text, { Base64.encode($0.piece.bytes) }, "the bytes in base64; they may be empty"),
        .required("end", .bool, \.piece.isLast, "true for the last piece; the copy is of no use without it"),
    ])

    private func begin(for session: Int) throws(RPCError) -> String {
        guard let backup = gate.beginBackup() else {
            let kind = gate.events.store.kind
            throw RPCError(.conflict, "the event store of kind \(kind) cannot be backed up while it is used")
        }
        return backups.begin(backup, for: session)
    }

    private func note(_ piece: BackupPiece, of running: ClientBackups.Running, _ caller: Caller, _ session: Int) {
        running.bytes += piece.bytes.count
        guard piece.isLast else { return }
        backups.end(of: session)
        log.write(
            .storeBackedUp,
            [
                "uid": .number(DataNumber(Int(caller.credentials.uid))),
                "bytes": .number(DataNumber(running.bytes)),
            ])
    }

    static let methods = [backup]
}

/// The backups in progress, at most one for each connection. A backup ends with its connection.
final class ClientBackups {
    private var bySession: [Int: Running] = [:]
    private var next = 1

    /// A backup of a client.
    final class Running {
        let id: String
        let backup: any StoreBackup
        /// The bytes that were returned so far.
        var bytes = 0

        init(id: String, _ backup: any StoreBackup) {
            (self.id, self.backup) = (id, backup)
        }
    }

    /// Begins a backup for a session, and ends the session's earlier one.
    /// - Returns: the backup's id.
    func begin(_ backup: any StoreBackup, for session: Int) -> String {
        let running = Running(id: "backup-\(next)", backup)
        next += 1
        bySession[session] = running
        return running.id
    }

    /// Returns a backup of a session; nil if the session makes no backup with this id.
    func running(_ id: String, of session: Int) -> Running? { bySession[session].flatMap { $0.id == id ? $0 : nil } }

    func end(of session: Int) { bySession[session] = nil }

    func sessionEnded(_ session: Int) { end(of: session) }
}
