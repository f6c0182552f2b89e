import HeadgateTransport

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
