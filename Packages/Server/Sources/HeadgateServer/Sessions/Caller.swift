import HeadgateCore
import HeadgateTransport

/// The client of a connection, and its rights (Behaviour X1).
struct Caller {
    let credentials: PeerCredentials
    /// The groups of methods that the settings grant to the caller.
    private(set) var groups: Set<MethodGroup>
    /// True for root and for the daemon's user, who may call all methods.
    let isTrusted: Bool
    /// The client's name from `hello`, like `shop/2.1`, or nil before `hello`.
    var client: String?
    /// The namespace that the client chose in `hello`, or nil.
    private(set) var chosenNamespace: String?
    /// The namespace in which the IDs of the caller's events are unique, as it is stored (Behaviour Q7, X5).
    private(set) var namespace: String

    /// True if the client chose a namespace in `hello`.
    var hasNamespaceOfItsOwn: Bool { namespace != UserNamespace.name(of: credentials.uid) }

    /// - Parameter daemonUID: the user ID of the daemon's process.
    init(_ credentials: PeerCredentials, access: AccessSettings, daemonUID: UInt32) {
        self.credentials = credentials
        namespace = UserNamespace.name(of: credentials.uid)
        isTrusted = credentials.uid == 0 || credentials.uid == daemonUID
        groups = []
        grant(access)
    }

    /// Sets the caller's rights and namespace to those that the settings grant.
    mutating func grant(_ access: AccessSettings) {
        groups = Set(MethodGroup.allCases.filter { isTrusted || access.grants($0, to: credentials) })
        namespace = UserNamespace.stored(chosenNamespace, of: credentials, access)
    }

    /// Chooses a namespace.
    mutating func choose(namespace: String, access: AccessSettings) {
        chosenNamespace = namespace
        self.namespace = UserNamespace.stored(namespace, of: credentials, access)
    }

    /// Returns true if the caller may take batches of a dispatcher, as far as the dispatcher's own settings say.
    /// - Parameter workers: the users to whom the dispatcher restricts its workers, or nil for no restriction.
    func mayWork(for workers: AccessSettings.Grant?) -> Bool {
        isTrusted || workers?.includes(credentials) ?? true
    }
}

/// The names of namespaces as they are stored. A namespace belongs to one user, unless the settings share it (Behaviour
/// X5).
enum UserNamespace {
    /// The beginning of the names of all namespaces that belong to one user.
    static let prefix = "uid:"
    /// The most bytes of a stored name: a prefix with the highest user ID, a slash, and a chosen name.
    static let longest = Limits.longestName + "uid:4294967295/".utf8.count

    /// Returns the default namespace of a user.
    static func name(of uid: UInt32) -> String { "\(prefix)\(uid)" }

    /// Returns the stored name of a chosen namespace, or the user's default namespace if none was chosen. A user may
    /// also choose a stored name of its own, like `uid:1000/shop`.
    static func stored(_ chosen: String?, of user: PeerCredentials, _ access: AccessSettings) -> String {
        let own = name(of: user.uid)
        guard let chosen else { return own }
        if chosen == own || isWithin(chosen, own) { return chosen }
        if let users = access.sharedNamespaces[chosen], users.includes(user) { return chosen }
        return "\(own)/\(chosen)"
    }

    /// Returns the stored name of a namespace that a request names. Names of all stored namespaces are accepted: those
    /// of users begin with `uid:`. Any other name is a shared namespace, or else a namespace of the caller.
    static func requested(_ name: String, by user: PeerCredentials, _ access: AccessSettings) -> String {
        hasPrefix(name) || access.sharedNamespaces[name] != nil ? name : stored(name, of: user, access)
    }

    /// Returns true if a user must not choose a name, because it is the name of another user's namespace.
    static func isForeign(_ name: String, to uid: UInt32) -> Bool {
        hasPrefix(name) && name != self.name(of: uid) && !isWithin(name, self.name(of: uid))
    }

    /// Returns true if a name begins like that of a user's namespace. Bytes are compared, because Swift compares whole
    /// characters.
    static func hasPrefix(_ name: String) -> Bool { name.utf8.starts(with: prefix.utf8) }

    /// Returns true if a stored name is a chosen one of a user.
    private static func isWithin(_ name: String, _ own: String) -> Bool {
        name.utf8.count > own.utf8.count + 1 && name.utf8.starts(with: "\(own)/".utf8)
    }
}

/// A caller's namespace, in the forms that its events need.
struct Namespace {
    /// The name in UTF-8.
    let bytes: PinnedBytes
    /// The number that stands for the namespace in the trace of events.
    let number: UInt32

    init(_ name: String, _ trace: EventTrace) {
        bytes = PinnedBytes(Array(name.utf8))
        number = trace.number(ofNamespace: name)
    }
}

extension AccessSettings {
    /// Returns true if the settings grant a group of methods to a user. Every user may track.
    fileprivate func grants(_ group: MethodGroup, to peer: PeerCredentials) -> Bool {
        switch group {
        case .track: true
        case .observe: observe.includes(peer)
        case .read: read.includes(peer)
        case .control: control.includes(peer)
        case .serve: serve.includes(peer)
        case .configure: configure.includes(peer)
        }
    }
}

extension AccessSettings.Grant {
    /// Returns true if the grant has the user or one of the user's groups. Supplementary groups count.
    func includes(_ peer: PeerCredentials) -> Bool {
        uids.contains(peer.uid) || namedUIDs.contains(peer.uid)
            || ([peer.gid] + peer.groups).contains {
                gids.contains($0) || namedGIDs.contains($0)
            }
    }
}
