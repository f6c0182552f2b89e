import HeadgateCore

extension SQLiteEventStore {
    /// What an SQLite event store has to know.
    public struct Options: Sendable {
        /// The data directory. It is made, mode 0700, when it is missing.
        public var directory: String
        /// How safe events are when they count as appended (Behaviour Q5). This store has no use for `memory`: it is
        /// taken as `normal`.
        public var durability: Durability
        /// The most pages of 16 KiB that the file may have; nil is as many as fit on the disk.
        public var mostPages: Int?
        /// How many ids of clients a start gives back, the newest; what is beyond is let go of bit by bit (Behaviour Q7).
        public var mostRecentIDs = StoreLimits().dedupeIDs
        /// The most dead letters that are kept; the oldest go first (Behaviour D10).
        public var mostDeadLetters = 10_000
        /// The most bytes of events that dead letters may hold; the oldest go first (Behaviour D10).
        public var mostDeadLetterBytes = 64 << 20

        public init(directory: String, durability: Durability = .full) {
            self.directory = directory
            self.durability = durability
        }
    }
}
