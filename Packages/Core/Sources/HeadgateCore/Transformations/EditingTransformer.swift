import HeadgateData

/// The built-in transformer: does what the configuration says, in the order given.
public struct EditingTransformer: Transformer {
    private let edits: [EventEdit]
    private let digest: ([UInt8]) -> String

    /// - Parameter digest: SHA-256 in lower-case hexadecimal digits, which is left to a library.
    public init(_ edits: [EventEdit], digest: @escaping ([UInt8]) -> String) {
        self.edits = edits
        self.digest = digest
    }

    public func transform(_ event: EventDocument, dispatcher: String?) throws -> EventDocument? {
        var event = event
        for edit in edits { try carryOut(edit, on: &event) }
        return event
    }

    private func carryOut(_ edit: EventEdit, on event: inout EventDocument) throws(TransformationFault) {
        switch edit {
        case .rename(let renamings): try rename(renamings, in: &event)
        case .set(let path, let value): try event.set(value, at: path)
        case .hash(let path):
            guard let item = event[path] else { return }
            try event.set(.string(hash(of: item)), at: path)
        case .remove(let path): try event.remove(at: path)
        }
    }

    private func rename(_ renamings: [EventEdit.Renaming], in event: inout EventDocument) throws(TransformationFault) {
        var moved: [(path: EventPath, value: DataItem)] = []
        for renaming in renamings where renaming.old != renaming.new {
            guard let value = try event.remove(at: renaming.old) else { continue }
            moved.append((renaming.new, value))
        }
        for (path, value) in moved { try event.set(value, at: path) }
    }

    private func hash(of item: DataItem) -> String {
        if case .string(let text) = item { return digest(Array(text.utf8)) }
        var json = JSONWriter()
        json.item(item)
        return digest(json.bytes)
    }
}

/// One thing that a configured transformation does to an event.
public enum EventEdit: Sendable, Equatable {
    /// Moves what stands at the old paths to the new ones, all at once, so that two names may change places. An old path
    /// where nothing stands is passed over; what stands at a new one is replaced.
    case rename([Renaming])
    /// Puts a value at a path.
    case set(EventPath, DataItem)
    /// Puts the SHA-256 of what stands at a path in its place, in lower-case hexadecimal digits: of a string's UTF-8, of
    /// other values' JSON.
    case hash(EventPath)
    /// Takes away what stands at a path.
    case remove(EventPath)

    /// An old path and the new one.
    public struct Renaming: Sendable, Equatable {
        public var old: EventPath
        public var new: EventPath

        public init(from old: EventPath, to new: EventPath) {
            self.old = old
            self.new = new
        }
    }
}
