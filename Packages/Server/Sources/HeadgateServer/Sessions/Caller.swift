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

    /// Returns true if the dispatcher's own settings allow the caller to take batches. This does not check the right
    /// `serve`.
    /// - Parameter workers: the users to whom the dispatcher restricts its workers, or nil for no restriction.
    func mayWork(for workers: AccessSettings.Grant?) -> Bool {
        isTrusted || workers?.includes(credentials) ?? true
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
