import CCurl
import HeadgateData

/// The `Retry-After` header: seconds, or an HTTP date (RFC 9110, 10.2.3). Anything else is ignored (Behaviour D5).
enum RetryAfter {
    /// How long the header asks to wait; nil when it makes no sense. A date that is past asks for no wait.
    ///
    /// libcurl reads the date; its own reading of the whole header (`CURLINFO_RETRY_AFTER`) takes `3 seconds` and `1e3` for
    /// numbers.
    static func wait(_ header: String, at wall: Timestamp) -> Duration? {
        if !header.isEmpty, header.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
            return .seconds(Int64(header) ?? longest)
        }
        let date = curl_getdate(header, nil)
        guard date >= 0 else { return nil }
        return max(.zero, .seconds(date) - .milliseconds(wall.milliseconds))
    }

    /// What more seconds than can be counted come to.
    private static let longest = Int64.max
}
