import HeadgateCore
import HeadgateData

/// The rights of users beyond those that every user has (Behaviour X1). Root and the daemon's own user have all rights.
public struct AccessSettings: Equatable, Sendable {
    /// The users who may read the service's state (`observe`).
    public var observe = Grant()
    /// The users who may read the contents of events (`read`).
    public var read = Grant()
    /// The users who may operate the service (`control`).
    public var control = Grant()
    /// The users who may take batches as workers and serve boards (`serve`).
    public var serve = Grant()
    /// The users who may change the settings (`configure`), and so may do all that the daemon's user may do.
    public var configure = Grant()
    /// The namespaces that several users share, with these users (Behaviour X5).
    public var sharedNamespaces: [String: Grant] = [:]

    public init() {}

    /// Users, and groups whose members have the right.
    public struct Grant: Equatable, Sendable {
        public var uids: Set<UInt32>
        public var gids: Set<UInt32>
        /// The users and groups that the settings name.
        fileprivate var users: [String] = []
        fileprivate var groups: [String] = []
        /// The IDs of the named users and groups.
        fileprivate(set) var namedUIDs: Set<UInt32> = []
        fileprivate(set) var namedGIDs: Set<UInt32> = []

        public init(uids: Set<UInt32> = [], gids: Set<UInt32> = []) {
            self.uids = uids
            self.gids = gids
        }
    }

}

extension AccessSettings: SettingsSection {
    static let table = SettingsTable<AccessSettings>([
        .key("observe", grant, \.observe), .key("read", grant, \.read), .key("control", grant, \.control),
        .key("serve", grant, \.serve), .key("configure", grant, \.configure), sharedNamespaces,
    ])

    private static let grant = SettingsForm.section(Grant.init(_:), \.object)

    private static let sharedNamespaces = SettingsTable<AccessSettings>.Key(
        name: "shared_namespaces",
        read: { reader, access in
            reader.entries("shared_namespaces", most: Limits.mostRules) { name, users in
                if !(1...Limits.longestName).contains(name.utf8.count) || UserNamespace.hasPrefix(name) {
                    users.fault("must have 1 to \(Limits.longestName) bytes and must not begin with uid:")
                }
                access.sharedNamespaces[name] = Grant(users)
            }
        },
        show: { access in
            let names = access.sharedNamespaces.sorted { $0.key < $1.key }
            return .object(DataObject(names.map { ($0.key, .object($0.value.object)) }))
        })
}

extension AccessSettings.Grant {
    /// The valid user and group IDs. The highest number means "no user" in system calls.
    private static let numbers = 0...(Int(UInt32.max) - 1)

    init(_ reader: SettingsReader) {
        // Every number in the range is a valid `UInt32`.
        self.init(
            uids: Set(reader.integers("uids", in: Self.numbers).map(UInt32.init)),
            gids: Set(reader.integers("gids", in: Self.numbers).map(UInt32.init)))
        users = reader.accounts("users", AccountName.uid) { namedUIDs.insert($0) }
        groups = reader.accounts("groups", AccountName.gid) { namedGIDs.insert($0) }
    }

    var object: DataObject {
        [
            "uids": .numbers(uids), "gids": .numbers(gids), "users": .array(users.map { .string($0) }),
            "groups": .array(groups.map { .string($0) }),
        ]
    }
}

extension SettingsReader {
    /// Reads a list of names of users or groups. A name that the system does not know is a fault (Behaviour X1).
    /// - Parameters:
    ///   - find: returns the ID of a name, or nil if the system does not know the name.
    ///   - found: called with each ID.
    fileprivate func accounts(
        _ key: String, _ find: (String) -> UInt32?, _ found: (UInt32) -> Void
    ) -> [String] {
        var names: [String] = []
        for (index, item) in (array(key, most: Limits.mostRules) ?? []).enumerated() {
            guard let name = String(dataItem: item), !name.isEmpty else {
                fault(key, "[\(index)]", "must be a name")
                continue
            }
            guard let number = find(name) else {
                fault(key, "[\(index)]", "`\(name)` is not known to this system")
                continue
            }
            names.append(name)
            found(number)
        }
        return names
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
}

extension FlushOccasions: SettingsSection {
    static let table = SettingsTable<FlushOccasions>([
        .key("start", .bool, \.start), .key("connected", .bool, \.connected),
        .key("background", .bool, \.background), .key("foreground", .bool, \.foreground),
        .key("exiting", .bool, \.exiting), .key("shutdown", .bool, \.shutdown),
    ])
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
}

extension NetworkSettings: SettingsSection {
    static let table = SettingsTable<NetworkSettings>([
        kinds, .key("require_default_route", .bool, \.requiresDefaultRoute),
        .optional("probe", .section(Probe.init(_:), \.object), \.probe),
    ])

    private static let kinds = SettingsTable<NetworkSettings>.Key(
        name: "interface_kinds",
        read: { reader, network in
            reader.section("interface_kinds", most: Limits.mostRules) { names in
                for name in names.keys {
                    network.interfaceKinds[name] = SettingsForm<ConnectionKind>.word.read(names, name) ?? .other
                }
            }
        },
        show: { network in
            let kinds = network.interfaceKinds.sorted { $0.key < $1.key }
            return .object(DataObject(kinds.map { ($0.key, .string($0.value.rawValue)) }))
        })
}

extension NetworkSettings.Probe: SettingsSection {
    static let table = SettingsTable<Self>([
        .required("url", SettingsForm({ $0.endpoint($1)?.text }, { .string($0) }), \.url),
        .key("interval_ms", .milliseconds(), \.interval), .key("timeout_ms", .milliseconds(), \.timeout),
    ])

    fileprivate init(_ reader: SettingsReader) {
        self.init(url: "")
        read(reader)
    }
}

/// The source of the remote layer of the settings (Behaviour S1).
public struct RemoteSource: Equatable, Sendable {
    /// The URL of a JSON object in the form of the configuration file.
    public var url: String
    /// The time from one request to the next.
    public var refresh = Duration.seconds(300)
    /// The names and values of headers, for example of one with a token.
    var headers: [HTTPSettings.Header] = []
    /// The certificate authorities that are trusted, and a certificate of the daemon's own.
    var tls = HTTPSettings.TLS()
    /// True if the URL's host is this machine.
    private(set) var isLoopback = false

    init(_ reader: SettingsReader) {
        reader.require("url")
        let endpoint = reader.endpoint("url")
        url = endpoint?.text ?? ""
        reader.seconds("refresh_s", into: &refresh)
        reader.section("headers", most: Limits.mostHeaders) { headers = $0.headers() }
        reader.section("tls") { tls.read($0) }
        let mayBeInsecure = reader.bool("insecure") ?? false
        isLoopback = endpoint?.authority.isLoopback ?? false
        if let endpoint, endpoint.scheme != "https", !isLoopback, !mayBeInsecure {
            reader.fault(
                "url", "", "must be https:// or a loopback address; \"insecure\": true allows settings over plain http")
        }
        for header in headers {
            guard case .output = header.value else { continue }
            reader.fault("headers", ".\(header.name)", "must not take a board's output")
        }
    }
}

/// The settings that the remote layer must not contain, because they decide about rights, about where the daemon keeps
/// its data, and about the remote layer itself (Behaviour X6).
enum LocalSetting {
    /// The key paths of these settings.
    static let paths = [
        ["access"], ["remote"], ["socket"], ["data_dir"], ["durability"], ["store", "kind"], ["store", "encryption"],
        ["lenient"],
    ]

    /// Returns a fault for each of these settings that the remote layer contains. A null counts, because it removes the
    /// setting of the file. So does a `store` that is no object.
    static func faults(of remote: DataObject) -> [SettingsFault] {
        var faults = paths.filter { remote.contains($0[...]) }.map {
            SettingsFault(
                path: $0.joined(separator: "."),
                message:
                    "must not be in the remote settings, which are refused as a whole; set it in the configuration file"
            )
        }
        if let store = remote["store"], DataObject(dataItem: store) == nil {
            faults.append(SettingsFault(path: "store", message: "must be an object in the remote settings"))
        }
        return faults
    }
}

extension DataObject {
    /// Returns true if the object has a member at a key path, whatever its value.
    func contains(_ path: ArraySlice<String>) -> Bool {
        guard let key = path.first, let item = self[key] else { return false }
        return path.count == 1 || DataObject(dataItem: item)?.contains(path.dropFirst()) == true
    }
}
