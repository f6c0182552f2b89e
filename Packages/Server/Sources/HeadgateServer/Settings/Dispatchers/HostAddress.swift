import CCurl
import Glibc

/// The host of a URL as libcurl understands it: it takes an IPv4 address in all spellings that `inet_aton` does.
struct HostAddress {
    private let name: String

    /// - Parameter host: an IPv6 address without its brackets, or anything else as it stands in the URL.
    init(_ host: String) {
        // A dot at the end only says that a name is whole.
        let whole = host.hasSuffix(".") ? String(host.dropLast()) : host
        name = HostAddress.normalized(whole).lowercased()
    }

    /// Whether it is this machine itself, so that no network leads there (Behaviour B20).
    var isLoopback: Bool {
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        if let bytes = HostAddress.bytes(name, AF_INET, 4) { return HostAddress.isLoopbackIPv4(bytes[...]) }
        guard let bytes = HostAddress.bytes(name, AF_INET6, 16) else { return false }
        let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return isMapped
            ? HostAddress.isLoopbackIPv4(bytes[12...]) : bytes[..<15].allSatisfy { $0 == 0 } && bytes[15] <= 1
    }

    /// The network 127.0.0.0/8, and the address that stands for any: the kernel connects to that over loopback too.
    private static func isLoopbackIPv4(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.first == 127 || bytes.allSatisfy { $0 == 0 }
    }

    /// As libcurl's URL parser gives it back; the host itself where it takes none.
    private static func normalized(_ host: String) -> String {
        let url = curl_url()
        defer { curl_url_cleanup(url) }
        let authority = host.contains(":") ? "[\(host)]" : host
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_set(url, CURLUPART_URL, "http://\(authority)/", 0) == CURLUE_OK,
            curl_url_get(url, CURLUPART_HOST, &text, 0) == CURLUE_OK, let text
        else { return host }
        defer { curl_free(text) }
        let parsed = String(cString: text)
        return parsed.hasPrefix("[") ? String(parsed.dropFirst().dropLast()) : parsed
    }

    private static func bytes(_ name: String, _ family: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return inet_pton(family, name, &bytes) == 1 ? bytes : nil
    }
}
