import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `store.rekey`.
struct RekeyMethods: MethodFamily {
    let gate: Headgate
    let control: SettingsControl
    let encryption: ServiceEncryption
    let log: Log

    private static let rekey = FamilyMethod<Self>(
        "store.rekey", .control,
        "Reads the keys of `store.encryption` again, and rewrites the files under other keys with the first of them, in the background.",
        result: .object([
            .required("key", .nullable(.count), "the number of the key; null if the store is being decrypted"),
            .required("bytes_left", .count, "the bytes of the files that are under other keys, or under none"),
        ]), reasons: [.conflict, .storage]
    ) { parts, call throws(RPCError) in
        guard let store = parts.gate.events.store as? DiskEventStore, store.encryption != nil else {
            throw RPCError(.conflict, "the event store has no keys: set store.encryption, and restart the daemon")
        }
        let keys: EncryptionKeys
        do throws(StartFault) { keys = try parts.encryption.keys() } catch {
            throw RPCError(.conflict, "\(error); the keys are as before")
        }
        let (caller, reply) = (call.session.caller, call.reply)
        store.rekey(keys) { fault in
            if let fault { return reply.fail(RPCError(.conflict, "\(fault.message); the keys are as before")) }
            parts.control.rekey()
            parts.note(keys, caller)
            let now = store.encryption
            reply.answer([
                "key": (now?.key).map { .number(DataNumber($0)) } ?? .null,
                "bytes_left": .number(DataNumber(now?.bytesLeft ?? 0)),
            ])
        }
    }

    private func note(_ keys: EncryptionKeys, _ caller: Caller) {
        log.tell(
            .storeRekeyed,
            [
                "uid": .number(DataNumber(Int(caller.credentials.uid))),
                "key": .number(DataNumber(keys.numbers[0])),
            ])
    }

    static let methods = [rekey]
}

/// The keys of the service's store, as the settings of the start name them (Behaviour C2).
struct ServiceEncryption {
    /// The section `store.encryption` at the start; nil if there is none.
    let settings: EncryptionSettings?
    let environment: [String: String]

    /// Reads the keys.
    func keys() throws(StartFault) -> EncryptionKeys {
        guard let settings else { throw StartFault("is not set", at: "store.encryption") }
        return try settings.keys(environment)
    }

    /// True if users other than the file's owner may read or write the keys.
    var isExposed: Bool { settings?.isExposed(environment) ?? false }

    /// Returns the member `encryption` of `status.store`.
    func status(_ store: any EventStore) -> DataItem {
        guard let found = (store as? DiskEventStore)?.encryption else { return .null }
        let bytes = found.bytes.sorted { $0.key < $1.key }.map { ("\($0.key)", DataItem.number(DataNumber($0.value))) }
        return [
            "key": found.key.map { .number(DataNumber($0)) } ?? .null, "bytes": .object(DataObject(bytes)),
            "bytes_left": .number(DataNumber(found.bytesLeft)), "rewriting": .bool(found.isRewriting),
            "key_file_exposed": .bool(isExposed),
        ]
    }
}
