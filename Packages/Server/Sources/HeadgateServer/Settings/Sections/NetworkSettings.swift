import HeadgateCore
import HeadgateData

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
