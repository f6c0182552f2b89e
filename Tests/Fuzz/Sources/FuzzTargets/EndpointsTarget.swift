import HeadgateData

@testable import HeadgateServer

/// URLs, secrets in URLs and headers, and their encodings.
enum EndpointsTarget {
    /// The first byte selects the kind of the rest.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        switch input.number(below: 4) {
        case 0: endpoint(String(decoding: input.remainder(), as: UTF8.self))
        case 1: base64(input.remainder())
        case 2: percent(input.remainder())
        default: header(&input)
        }
        return 0
    }

    private static func endpoint(_ text: String) {
        _ = URLCredentials(url: text)?.secrets
        guard let endpoint = try? Endpoint(text) else { return }
        precondition(endpoint.scheme == "http" || endpoint.scheme == "https")
        precondition(!endpoint.authority.host.isEmpty && (1...65_535).contains(endpoint.authority.port ?? 80))
        precondition((try? Endpoint(endpoint.text)) == endpoint, "\(endpoint.text) reads as another")
        let hasSecret = !(endpoint.authority.userInfo ?? "").isEmpty
        precondition(hasSecret == (URLCredentials(url: endpoint.text) != nil), "the secrets of \(endpoint.text)")
        _ = endpoint.authority.isLoopback
    }

    private static func base64(_ bytes: [UInt8]) {
        precondition(Base64.decode(Base64.encode(bytes)) == bytes)
        guard let read = Base64.decode(String(decoding: bytes, as: UTF8.self)) else { return }
        precondition(Base64.decode(Base64.encode(read)) == read)
        // Some bits of the last character may have no meaning.
        let written = Array(Base64.encode(read).utf8)
        let differences = zip(written, bytes).count { $0 != $1 }
        precondition(written.count == bytes.count && differences <= 1, "more than \(read) in what was decoded")
    }

    private static func percent(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        precondition(PercentEncoding.decode(PercentEncoding.unreserved(Array(text.utf8))).utf8.elementsEqual(text.utf8))
        precondition(PercentEncoding.decode(PercentEncoding.header(text)).utf8.elementsEqual(text.utf8))
        precondition(PercentEncoding.decode(text).utf8.count <= 3 * text.utf8.count)
    }

    private static func header(_ input: inout FuzzInput) {
        let field = HTTPField(name: input.text(upTo: "\n"), value: String(decoding: input.remainder(), as: UTF8.self))
        let forms = HeaderSecrets.forms(of: field.value)
        precondition(forms.first == field.value)
        guard field.isValid else { return }
        precondition(!field.line.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 }, "a line of two")
    }
}
