import HeadgateData

/// A reader that finds in an event's context the namespace in which the event was accepted: the one that its client
/// named, else its user's.
///
/// Most events of a connection have the same context, so the newest one that was read is kept.
struct ContextNamespaces {
    private let readObject: (UnsafeRawBufferPointer) -> DataObject?
    private var newest: (context: [UInt8], namespace: String?) = ([], nil)

    init(readObject: @escaping (UnsafeRawBufferPointer) -> DataObject?) {
        self.readObject = readObject
    }

    /// Returns the namespace of an event, or nil if its context has none because a collector is switched off.
    mutating func namespace(of event: StoredEvent) -> String? {
        let context = event.context
        guard !newest.context.elementsEqual(context) else { return newest.namespace }
        newest = (Array(context), read(context))
        return newest.namespace
    }

    private func read(_ context: ArraySlice<UInt8>) -> String? {
        guard let context = context.withUnsafeBytes(readObject) else { return nil }
        if let named = context.get(key: "namespace", as: String.self) { return named }
        // A context without a client may be one that leaves out the namespace, too (`collectors.client`).
        guard context.get(key: "client", as: String.self) != nil else { return nil }
        return context.get(key: "uid", as: Int.self).map { "uid:\($0)" }
    }
}
