/// An HTTP URL to send to (Behaviour K1).
struct Endpoint: Equatable {
    /// `http` or `https`.
    let scheme: String
    /// Where it is, and the user and password for it. A secret (Behaviour X4).
    let authority: Authority
    /// The whole, scheme and all.
    let text: String

    /// Why a text is no such URL.
    struct Fault: Error, Equatable {
        let message: String
    }

    /// Reads a URL; without a scheme it is one of `https`.
    init(_ text: String) throws(Fault) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Fault(message: "must be a URL without spaces and control characters")
        }
        let (scheme, rest) = Endpoint.split(text)
        guard scheme == "http" || scheme == "https" else {
            throw Fault(message: "must be a URL with http:// or https://")
        }
        authority = try Authority(rest.prefix { !"/?#".contains($0) })
        self.scheme = scheme
        self.text = "\(scheme)://\(rest)"
    }
}

extension Endpoint {
    /// The scheme in lower case, and what stands behind `://`.
    private static func split(_ text: String) -> (scheme: String, rest: Substring) {
        let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        let behind = text[scheme.endIndex...]
        guard behind.hasPrefix("://") else { return ("https", text[...]) }
        return (scheme.lowercased(), behind.dropFirst(3))
    }
}
