import HeadgateCore
import HeadgateData

/// The rights of users beyond those that every user has (Behaviour X1). Root and the daemon's own user have all rights.
public struct AccessSettings: Equatable, Sendable {
    /// The users who may read the service's state (`observe`).
    public var observe = Grant()
    /// The users who may change the service's state (`control`).
    public var control = Grant()
    /// The users who may take batches as workers and serve boards (`serve`).
    public var serve = Grant()

    public init() {}

    /// Users, and groups whose members have the right.
    public struct Grant: Equatable, Sendable {
        public var uids: Set<UInt32>
        public var gids: Set<UInt32>

        public init(uids: Set<UInt32> = [], gids: Set<UInt32> = []) {
            self.uids = uids
            self.gids = gids
        }
    }

    /// The grants under their names in the configuration.
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
    /// The valid user and group IDs. The highest number means "no user" in system calls.
    private static let numbers = 0...(Int(UInt32.max) - 1)

    init(_ reader: SettingsReader) {
        // Every number in the range fits.
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

/// The occasions of automatic flushes (Behaviour F5).
public struct FlushOccasions: Equatable, Sendable {
    /// The service's start.
    public var start = true
    /// The return of the network.
    public var connected = true
    /// A client's change to the background.
    public var background = true
    /// A client's change to the foreground.
    public var foreground = true
    /// A client's status `exiting`.
    public var exiting = true
    /// An orderly stop of the service.
    public var shutdown = true

    public init() {}

    /// The occasions under their names in the configuration.
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

/// The settings of the network watch (Behaviour B20, B21).
public struct NetworkSettings: Equatable, Sendable {
    /// The kinds of interfaces by name, or by a prefix and `*`. They override the kind that sysfs reports.
    public var interfaceKinds: [String: ConnectionKind] = [:]
    /// True if a connection also needs a default route.
    public var requiresDefaultRoute = false
    /// The probe that looks for a connection while the kernel reports none, or nil for no probe.
    public var probe: Probe?

    public init() {}

    /// The settings of a probe: any answer of its URL shows that the network is reachable.
    public struct Probe: Equatable, Sendable {
        public var url: String
        /// The time from one request to the next, while there is no connection.
        public var interval = Duration.milliseconds(30_000)
        /// The longest time that a request may take.
        public var timeout = Duration.milliseconds(5_000)
    }

    /// The settings under their names in the configuration.
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

/// The source of the remote layer of the settings (Behaviour S1).
public struct RemoteSource: Equatable, Sendable {
    /// The URL of a JSON object in the form of the configuration file.
    public var url: String
    /// The time from one request to the next.
    public var refresh = Duration.seconds(300)

    init(_ reader: SettingsReader) {
        reader.require("url")
        url = reader.endpoint("url")?.text ?? ""
        reader.seconds("refresh_s", into: &refresh)
    }
}
