/// Things that only one owner may have, by name: files that dispatchers write, for example.
struct SettingsClaims {
    private var owners: [String: Claim] = [:]

    /// A name that is taken.
    struct Claim {
        /// The owner, for people.
        let owner: String
        /// True if the owner also has the name followed by a dot and a number.
        let isNumbered: Bool
    }

    /// Takes a name.
    /// - Returns: the claim that it collides with; nil if there is none. `isNumbered` tells then whether one of the two
    ///   names is a numbered name of the other.
    mutating func take(_ name: String, for owner: String, isNumbered: Bool) -> Claim? {
        let other = collision(name, isNumbered: isNumbered)
        owners[name] = owners[name] ?? Claim(owner: owner, isNumbered: isNumbered)
        return other
    }

    private func collision(_ name: String, isNumbered: Bool) -> Claim? {
        if let same = owners[name] { return Claim(owner: same.owner, isNumbered: false) }
        if let base = SettingsClaims.base(of: name), let claim = owners[base], claim.isNumbered { return claim }
        guard isNumbered, let taken = owners.first(where: { SettingsClaims.base(of: $0.key) == name }) else {
            return nil
        }
        return Claim(owner: taken.value.owner, isNumbered: false)
    }

    /// `events.ndjson` for `events.ndjson.7`; nil for a name without a number.
    private static func base(of name: String) -> String? {
        guard let dot = name.lastIndex(of: ".") else { return nil }
        let number = name[name.index(after: dot)...]
        guard !number.isEmpty, number.first != "0", number.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return String(name[..<dot])
    }
}
