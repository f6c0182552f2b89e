import CCurl

/// Text in which some bytes stand as `%` and two hexadecimal digits (RFC 3986, 2.1).
enum PercentEncoding {
    /// For a value in a URL's query: only what has no meaning in any URL stays.
    static func query(_ bytes: [UInt8]) -> String {
        // libcurl takes a length of 0 for a text that ends with a NUL.
        guard !bytes.isEmpty else { return "" }
        let encoded = bytes.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { curl_easy_escape(nil, $0.baseAddress, Int32($0.count)) }
        }
        // Nil only when there is no memory, with which Swift cannot go on either.
        defer { curl_free(encoded) }
        return String(cString: encoded!)
    }

    /// For a header's value: all visible ASCII stays, of which libcurl would encode the better part.
    static func header(_ text: String) -> String {
        text.utf8.map { byte in
            let isKept = 0x21...0x7E ~= byte && byte != UInt8(ascii: "%")
            return isKept ? String(UnicodeScalar(byte)) : query([byte])
        }.joined()
    }

    /// The text that was encoded; a `%` that no two digits follow stays.
    static func decode(_ text: some StringProtocol) -> String {
        guard !text.isEmpty else { return "" }
        var count: Int32 = 0
        let decoded = String(text).withCString { curl_easy_unescape(nil, $0, Int32(text.utf8.count), &count) }
        defer { curl_free(decoded) }
        // Nil only when there is no memory, as above.
        return String(decoding: UnsafeRawBufferPointer(start: decoded!, count: Int(count)), as: UTF8.self)
    }
}
