import HeadgateCore
import HeadgateTransport

/// The client of a connection, and its rights (Behaviour X1).
struct Caller {
    let credentials: PeerCredentials
    /// The groups of methods that the settings grant to the caller.
    private(set) var groups: Set<MethodGroup>
    /// True for root and for the daemon's user, who may call all methods.
    private let isTrusted: Bool
    /// The client's name from `hello`, like `shop/2.1`, or nil before `hello`.
    var client: String?
    /// The namespace in which the IDs of the caller's events are unique (Behaviour Q7).
    var namespace: String

    /// True if the client named a namespace in `hello`.
    var hasNamespaceOfItsOwn: Bool { namespace != "uid:\(credentials.uid)" }

    /// - Parameter daemonUID: the user ID of the daemon's process.
    init(_ credentials: PeerCredentials, access: AccessSettings, daemonUID: UInt32) {
        self.credentials = credentials
        namespace = "uid:\(credentials.uid)"
        isTrusted = credentials.uid == 0 || credentials.uid == daemonUID
        groups = []
        grant(access)
    }

    /// Sets the caller's rights to those that the settings grant.
    mutating func grant(_ access: AccessSettings) {
        groups = Set(MethodGroup.allCases.filter { isTrusted || access.grants($0, to: credentials) })
    }
}

/// A caller's namespace, in the forms that its events need.
struct Namespace {
    /// The name in UTF-8.
    let bytes: FixedBytes
    /// The number that stands for the namespace in the trace of events.
    let number: UInt32

    init(_ name: String, _ trace: EventTrace) {
        bytes = FixedBytes(Array(name.utf8))
        number = trace.number(ofNamespace: name)
    }
}

extension AccessSettings {
    /// Returns true if the settings grant a group of methods to a user. Every user may track.
    fileprivate func grants(_ group: MethodGroup, to peer: PeerCredentials) -> Bool {
        switch group {
        case .track: true
        case .observe: observe.includes(peer)
        case .control: control.includes(peer)
        case .serve: serve.includes(peer)
        }
    }
}

extension AccessSettings.Grant {
    /// Returns true if the grant has the user or one of the user's groups. Supplementary groups count.
    fileprivate func includes(_ peer: PeerCredentials) -> Bool {
        uids.contains(peer.uid) || gids.contains(peer.gid) || peer.groups.contains(where: gids.contains)
    }
}
