import HeadgateData

/// Who may use which methods, on top of what everyone may, and root and the daemon's own user (Behaviour X1).
public struct AccessSettings: Equatable, Sendable {
    /// Who may look at the service.
    public var observe = Grant()
    /// Who may steer it.
    public var control = Grant()
    /// Who may take dispatches and serve boards.
    public var serve = Grant()

    public init() {}

    /// Users, and groups whose members are meant.
    public struct Grant: Equatable, Sendable {
        public var uids: Set<UInt32>
        public var gids: Set<UInt32>

        public init(uids: Set<UInt32> = [], gids: Set<UInt32> = []) {
            self.uids = uids
            self.gids = gids
        }
    }

    /// The grants under the names of the configuration.
    var object: DataObject {
        ["observe": .object(observe.object), "control": .object(control.object), "serve": .object(serve.object)]
    }

    mutating func read(_ reader: SettingsReader) {
        reader.section("observe") { observe = Grant($0) }
        reader.section("control") { control = Grant($0) }
        reader.section("serve") { serve = Grant($0) }
    }
}

extension AccessSettings.Grant {
    /// The highest number stands for "no user" in the system's calls and is nobody's.
    private static let numbers = 0...(Int(UInt32.max) - 1)

    init(_ reader: SettingsReader) {
        // Every number in range fits.
        uids = Set(reader.integers("uids", in: Self.numbers).map(UInt32.init))
        gids = Set(reader.integers("gids", in: Self.numbers).map(UInt32.init))
    }

    var object: DataObject {
        ["uids": .numbers(uids), "gids": .numbers(gids)]
    }
}

extension DataItem {
    fileprivate static func numbers(_ numbers: Set<UInt32>) -> DataItem {
        .array(numbers.sorted().map { .number(DataNumber(Int($0))) })
    }
}
