import HeadgateData

/// What a gate needs of the program around it, whole before it begins.
public struct GateSurroundings {
    /// Gives numbers from 0 to 1, for the length of waits.
    public var chance: () -> Double
    /// Finds a time zone by its name, or the machine's for nil (Behaviour B24).
    public var timeZone: (String?) -> TimeZoneRules?
    /// Compiles the regular expressions in rules (Behaviour S5). Without one, a rule with a regular expression has a fault.
    public var patternCompiler: any PatternCompiler
    /// Reads the context of stored events; gives the members of a JSON object, nil when it is none.
    public var readObject: (UnsafeRawBufferPointer) -> DataObject?
    /// How large groups of events become.
    public var groups: GroupBounds
    /// When the program was built, or earlier: an earlier wall time counts as not set (Behaviour P7).
    public var builtAt: Timestamp
    /// Runs the boards that stand before dispatchers (Behaviour A9). Without one they wait.
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
