/// Names that only one owner may claim, for example the files that dispatchers write.
struct SettingsClaims {
    private var owners: [String: Claim] = [:]

    /// A name with its owner.
    struct Claim {
        /// The owner, for messages.
        let owner: String
        /// True if the owner also claims the name followed by a dot and a number.
        let isNumbered: Bool
    }

    /// Claims a name.
    /// - Returns: the conflicting claim, or nil if there is none. Its `isNumbered` is true if one of the two names is a
    ///   numbered name of the other.
    mutating func take(_ name: String, for owner: String, isNumbered: Bool) -> Claim? {
        let other = collision(name, isNumbered: isNumbered)
        owners[name] = owners[name] ?? Claim(owner: owner, isNumbered: isNumbered)
        return other
    }

    /// Returns the owner of a name, or nil if it is not claimed.
    func owner(of name: String) -> String? { collision(name, isNumbered: false)?.owner }

    private func collision(_ name: String, isNumbered: Bool) -> Claim? {
        if let same = owners[name] { return Claim(owner: same.owner, isNumbered: false) }
        if let base = SettingsClaims.base(of: name), let claim = owners[base], claim.isNumbered { return claim }
        guard isNumbered, let taken = owners.first(where: { SettingsClaims.base(of: $0.key) == name }) else {
            return nil
        }
        return Claim(owner: taken.value.owner, isNumbered: false)
    }

    /// Returns the name without its number: `events.ndjson` for `events.ndjson.7`. Returns nil for a name without a
    /// number.
    private static func base(of name: String) -> String? {
        guard let dot = name.lastIndex(of: ".") else { return nil }
        let number = name[name.index(after: dot)...]
        guard !number.isEmpty, number.first != "0", number.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return String(name[..<dot])
    }
}
