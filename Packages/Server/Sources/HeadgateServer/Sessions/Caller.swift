import HeadgateCore
import HeadgateTransport

/// Who speaks on a connection, and what that allows (Behaviour X1).
struct Caller {
    let credentials: PeerCredentials
    /// What the settings grant it.
    private(set) var groups: Set<MethodGroup>
    /// Root, and the user that the daemon runs as, may do all.
    private let isTrusted: Bool
    /// How a client named itself in `hello`: `shop/2.1`.
    var client: String?
    /// Where its events' ids are unique (Behaviour Q7).
    var namespace: String

    /// True if the client named a namespace in `hello`.
    var hasNamespaceOfItsOwn: Bool { namespace != "uid:\(credentials.uid)" }

    /// - Parameter daemonUID: the user that the daemon runs as.
    init(_ credentials: PeerCredentials, access: AccessSettings, daemonUID: UInt32) {
        self.credentials = credentials
        namespace = "uid:\(credentials.uid)"
        isTrusted = credentials.uid == 0 || credentials.uid == daemonUID
        groups = []
        grant(access)
    }

    /// Gives it what the settings grant.
    mutating func grant(_ access: AccessSettings) {
        groups = Set(MethodGroup.allCases.filter { isTrusted || access.grants($0, to: credentials) })
    }
}

/// A caller's namespace, as its events have it.
struct Namespace {
    /// In UTF-8.
    let bytes: FixedBytes
    /// For the trace of its events.
    let number: UInt32

    init(_ name: String, _ trace: EventTrace) {
        bytes = FixedBytes(Array(name.utf8))
        number = trace.number(ofNamespace: name)
    }
}

extension AccessSettings {
    /// Whether the settings open a group of methods to someone; everyone may track.
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
    /// Supplementary groups count.
    fileprivate func includes(_ peer: PeerCredentials) -> Bool {
        uids.contains(peer.uid) || gids.contains(peer.gid) || peer.groups.contains(where: gids.contains)
    }
}
