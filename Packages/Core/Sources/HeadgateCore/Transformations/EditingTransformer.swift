import HeadgateData

/// The built-in transformer, which applies the configured edits. Every edit is independent of the others. Removals and
/// hashes always take effect, even if other edits fail (Behaviour P4).
public struct EditingTransformer: Transformer {
    private let renamings: [EventEdit.Renaming]
    /// The indices of ``renamings`` in the order in which the values are taken out: a value inside another one comes first.
    private let innermostFirst: [Int]
    private var values: [(path: EventPath, value: DataItem)] = []
    private var hashes: [EventPath] = []
    private var removals: [EventPath] = []
    private let digest: ([UInt8]) -> String

    /// - Parameters:
    ///   - edits: the edits. They are applied by kind: renamed, set, hashed, removed.
    ///   - digest: returns the SHA-256 in lower-case hexadecimal digits. A library provides it.
    public init(_ edits: [EventEdit], digest: @escaping ([UInt8]) -> String) {
        self.digest = digest
        var renamings: [EventEdit.Renaming] = []
        for edit in edits {
            switch edit {
            case .rename(let more): renamings += more.filter { $0.old != $0.new }
            case .set(let path, let value): values.append((path, value))
            case .hash(let path): hashes.append(path)
            case .remove(let path): removals.append(path)
            }
        }
        self.renamings = renamings
        innermostFirst = renamings.indices.sorted { renamings[$0].old.names.count > renamings[$1].old.names.count }
    }

    /// Returns the event with all edits that can be applied. Throws the first fault of an edit that cannot.
    public func transform(_ event: EventDocument, dispatcher: String?) throws -> EventDocument? {
        let result = edit(event, EventLimits())
        if let fault = result.faults.first { throw fault }
        return result.event
    }

    /// Applies all edits that can be applied. All paths refer to the event as it came: removed values keep their
    /// positions to the end.
    /// - Returns: the event, and the faults of edits that could not be applied.
    func edit(_ event: EventDocument, _ limits: EventLimits) -> (event: EventDocument, faults: [TransformationFault]) {
        var work = EditedEvent(event: event, limits: limits, room: limits.mostBytes - event.byteCount)
        var taken = [EventDocument.Moved?](repeating: nil, count: renamings.count)
        for index in innermostFirst {
            work.attempt { event throws(TransformationFault) in
                taken[index] = try event.take(renamings[index], hashes: hashes, removals: removals, hash)
            }
        }
        let moved = taken.compactMap { $0 }
        for each in moved { work.insert(each) }
        for (path, value) in values { work.put(value, at: path) }
        let hashed = moved.filter(\.isHashed).map(\.renaming.new)
        for path in hashes where !hashed.contains(path) {
            work.attempt { event throws(TransformationFault) in try event.hash(path, hash) }
        }
        for path in removals {
            work.attempt { event throws(TransformationFault) in try event.drop(path) }
        }
        work.event.sweep()
        return (work.event, work.faults)
    }

    private func hash(_ node: EventNode, _ text: EventText) -> String {
        if let bytes = node.exactString(in: text) { return digest(bytes) }
        var json = JSONWriter()
        json.item(node.item(in: text))
        return digest(json.bytes)
    }
}

/// An event with the results of its edits so far.
private struct EditedEvent {
    var event: EventDocument
    let limits: EventLimits
    /// The bytes that may still be added.
    var room: Int
    var faults: [TransformationFault] = []

    mutating func attempt(_ edit: (inout EventDocument) throws(TransformationFault) -> Void) {
        do throws(TransformationFault) { try edit(&event) } catch { faults.append(error) }
    }

    /// Puts a moved value at its new path, or back if that is not possible.
    mutating func insert(_ moved: EventDocument.Moved) {
        let before = faults.count
        attempt { [limits] event throws(TransformationFault) in try event.insert(moved, limits) }
        guard faults.count > before else { return }
        attempt { event throws(TransformationFault) in try event.putBack(moved) }
    }

    mutating func put(_ value: DataItem, at path: EventPath) {
        let size = value.json.utf8.count
        guard size <= room else { return faults.append(.tooLarge) }
        room -= size
        attempt { [limits] event throws(TransformationFault) in try event.put(value, at: path, limits) }
    }
}

/// An edit of an event in a configured transformation.
public enum EventEdit: Sendable, Equatable {
    /// Moves the values at old paths to new ones, all at once, so that two names can be exchanged. An old path without
    /// a value is skipped. A value at a new path is replaced.
    case rename([Renaming])
    /// Sets the value at a path.
    case set(EventPath, DataItem)
    /// Replaces the value at a path with its SHA-256 in lower-case hexadecimal digits: of a string's UTF-8, or of
    /// another value's JSON.
    case hash(EventPath)
    /// Removes the value at a path.
    case remove(EventPath)

    /// An old path and its new path.
    public struct Renaming: Sendable, Equatable {
        public var old: EventPath
        public var new: EventPath

        public init(from old: EventPath, to new: EventPath) {
            self.old = old
            self.new = new
        }
    }
}
