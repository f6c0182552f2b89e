import HeadgateData

/// The services that a gate needs from the program around it.
public struct GateEnvironment {
    /// Returns a random number from 0 to 1, for the length of waits.
    public var chance: () -> Double
    /// Returns the time zone with a name, or the machine's for nil (Behaviour B24).
    public var timeZone: (String?) -> TimeZoneRules?
    /// The compiler of the regular expressions in rules (Behaviour S5). Without a compiler, a rule with a regular
    /// expression has a fault.
    public var patternCompiler: any PatternCompiler
    /// The parser of the context of stored events. It returns nil if the bytes are not a JSON object.
    public var readObject: (UnsafeRawBufferPointer) -> DataObject?
    /// The sizes of commit groups.
    public var groups: GroupBounds
    /// The time at which the program was built, or an earlier time. Earlier wall times count as not set (Behaviour P7).
    public var builtAt: Timestamp
    /// The object that runs the boards of activation barriers (Behaviour A9). Without an activator their dispatchers
    /// stay blocked.
    public weak var boardActivator: (any BoardActivator)?

    public init(
        chance: @escaping () -> Double = { Double.random(in: 0...1) },
        timeZone: @escaping (String?) -> TimeZoneRules? = TimeZoneRules.named,
        patternCompiler: (any PatternCompiler)? = nil,
        readObject: @escaping (UnsafeRawBufferPointer) -> DataObject? = { _ in nil },
        groups: GroupBounds = GroupBounds(), builtAt: Timestamp = .unknownBuild,
        boardActivator: (any BoardActivator)? = nil
    ) {
        self.chance = chance
        self.timeZone = timeZone
        self.patternCompiler = patternCompiler ?? NoPatternCompiler()
        self.readObject = readObject
        self.groups = groups
        self.builtAt = builtAt
        self.boardActivator = boardActivator
    }
}
