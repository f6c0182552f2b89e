/// The user info in a URL, which libcurl sends as basic authentication.
struct URLCredentials {
    private let userInfo: Substring

    /// Nil for a URL without.
    init?(url: String) {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
        guard let end = authority.lastIndex(of: "@"), end > authority.startIndex else { return nil }
        userInfo = authority[..<end]
    }

    /// All forms in which a server could repeat it.
    var secrets: [String] {
        let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.map(PercentEncoding.decode)
        let credentials = BasicCredentials(user: decoded[0], password: decoded.count == 2 ? decoded[1] : "")
        return [String(userInfo)] + credentials.secrets
    }
}
