import HeadgateData

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
