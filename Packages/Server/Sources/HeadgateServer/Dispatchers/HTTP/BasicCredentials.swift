/// A user and a password, as basic authentication sends them (RFC 7617).
struct BasicCredentials {
    let user: String
    let password: String

    init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// From what follows `Basic ` in a header; nil when that is something else.
    init?(base64: some StringProtocol) {
        guard let bytes = Base64.decode(base64), let pair = String(validating: bytes, as: UTF8.self),
            let colon = pair.firstIndex(of: ":")
        else { return nil }
        self.init(user: String(pair[..<colon]), password: String(pair[pair.index(after: colon)...]))
    }

    /// All forms in which a server could repeat them.
    var secrets: [String] {
        let pair = user + ":" + password
        // Without a password the user is the secret: a token.
        return [pair, password.isEmpty ? user : password, Base64.encode(Array(pair.utf8))]
    }
}
