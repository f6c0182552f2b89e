import HeadgateCore
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

/// What flushes by itself (Behaviour F5).
public struct FlushOccasions: Equatable, Sendable {
    /// The service's start.
    public var start = true
    /// The network's return.
    public var connected = true
    /// A client that goes to the background.
    public var background = true
    /// A client that comes to the foreground.
    public var foreground = true
    /// A client that is about to end.
    public var exiting = true
    /// An orderly stop of the service.
    public var shutdown = true

    public init() {}

    /// The occasions under the names of the configuration.
    var object: DataObject {
        [
            "start": .bool(start), "connected": .bool(connected), "background": .bool(background),
            "foreground": .bool(foreground),
            "exiting": .bool(exiting), "shutdown": .bool(shutdown),
        ]
    }

    mutating func read(_ reader: SettingsReader) {
        reader.bool("start", into: &start)
        reader.bool("connected", into: &connected)
        reader.bool("background", into: &background)
        reader.bool("foreground", into: &foreground)
        reader.bool("exiting", into: &exiting)
        reader.bool("shutdown", into: &shutdown)
    }
}

/// How the machine's network is looked at (Behaviour B20, B21).
public struct NetworkSettings: Equatable, Sendable {
    /// Kinds of interfaces by name, or by a prefix and `*`, where sysfs does not tell them right.
    public var interfaceKinds: [String: ConnectionKind] = [:]
    /// Whether being connected needs a default route as well.
    public var requiresDefaultRoute = false
    /// How to find out that the network is reachable all the same; nil: by nothing.
    public var probe: Probe?

    public init() {}

    /// A request whose answer, any answer, shows that the network can be reached.
    public struct Probe: Equatable, Sendable {
        public var url: String
        /// From one try to the next, while unreachable.
        public var interval = Duration.milliseconds(30_000)
        /// The longest that a try may take.
        public var timeout = Duration.milliseconds(5_000)
    }

    /// The settings under the names of the configuration.
    var object: DataObject {
        var kinds = DataObject()
        for (name, kind) in interfaceKinds.sorted(by: { $0.key < $1.key }) { kinds[name] = .string(kind.rawValue) }
        var object: DataObject = [
            "interface_kinds": .object(kinds), "require_default_route": .bool(requiresDefaultRoute),
        ]
        if let probe { object["probe"] = .object(probe.object) }
        return object
    }

    mutating func read(_ reader: SettingsReader) {
        reader.section("interface_kinds", most: Limits.mostRules) { names in
            for name in names.keys {
                var kind = ConnectionKind.other
                names.word(name, of: ConnectionKind.allCases, into: &kind)
                interfaceKinds[name] = kind
            }
        }
        reader.bool("require_default_route", into: &requiresDefaultRoute)
        reader.section("probe") { probe = Probe($0) }
    }
}

extension NetworkSettings.Probe {
    fileprivate init(_ reader: SettingsReader) {
        reader.require("url")
        self.init(url: reader.endpoint("url")?.text ?? "")
        reader.milliseconds("interval_ms", into: &interval)
        reader.milliseconds("timeout_ms", into: &timeout)
    }

    fileprivate var object: DataObject {
        ["url": .string(url), "interval_ms": .init(milliseconds: interval), "timeout_ms": .init(milliseconds: timeout)]
    }
}

/// Where the remote layer of the settings comes from (Behaviour S1).
public struct RemoteSource: Equatable, Sendable {
    /// The URL of a JSON object, in the form of the configuration file.
    public var url: String
    /// From one look to the next.
    public var refresh = Duration.seconds(300)

    init(_ reader: SettingsReader) {
        reader.require("url")
        url = reader.endpoint("url")?.text ?? ""
        reader.seconds("refresh_s", into: &refresh)
    }
}

/// How safe an event is when it is acknowledged (Behaviour Q5).
public enum Durability: String, CaseIterable, Sendable {
    /// It survives a power failure.
    case full
    /// It survives the end of the process, not of the machine's power.
    case normal
    /// It is gone with the process.
    case memory
}
