import HeadgateCore
import HeadgateData
import HeadgateEncryption
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
        result: rekeyed.schema, reasons: [.conflict, .storage]
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
            reply.answer(rekeyed, store.encryption)
        }
    }

    private static let rekeyed = OutputShape<StoreEncryption?>.object([
        .required(
            "key", .nullable(.count), { $0?.key }, "the number of the key; null if the store is being decrypted"),
        .required(
            "bytes_left", .count, { $0?.bytesLeft ?? 0 },
            "the bytes of the files that are under other keys, or under none"),
    ])

    private func note(_ keys: EncryptionKeys, _ caller: Caller) {
        log.write(
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

    /// The member `encryption` of `status.store`. `isExposed` is true if users other than the file's owner may read or
    /// write the keys.
    static let shape = OutputShape<(files: StoreEncryption, isExposed: Bool)>.object([
        .required(
            "key", .nullable(.count), \.files.key,
            "the number of the key that encrypts; null while the store is decrypted"),
        .required(
            "bytes", .dictionary(.count), \.files.bytesByKey,
            "the bytes of the files under each key; `0` stands for plain files"),
        .required("bytes_left", .count, \.files.bytesLeft, "the bytes of the files that are not under `key`"),
        .required("rewriting", .bool, \.files.isRewriting, "true while files are rewritten under `key`"),
        .required(
            "key_file_exposed", .bool, \.isExposed,
            "true if users other than its owner may read or write the key file"),
    ])

    /// Returns the status of a store's encryption; nil if the store has no keys.
    func status(_ store: any EventStore) -> (files: StoreEncryption, isExposed: Bool)? {
        (store as? DiskEventStore)?.encryption.map { ($0, settings?.isExposed(environment) ?? false) }
    }
}

extension StoreEncryption {
    fileprivate var bytesByKey: [(key: String, value: Int)] {
        bytes.sorted { $0.key < $1.key }.map { ("\($0.key)", $0.value) }
    }
}
