import HeadgateCore
import HeadgateData

extension HTTPSettings {
    /// Returns the parts that all requests of a dispatcher share, except files. The sender calls it once, because it
    /// takes time.
    func target(_ method: Method) -> HTTPRequest.Target {
        HTTPRequest.Target(
            url: endpoint, method: method, timeout: timeout, connectTimeout: connectTimeout, unixSocket: unixSocket,
            isLoopback: isLoopback)
    }

    /// Returns the request that sends a batch to the destination.
    /// - Parameters:
    ///   - body: the batch's body in the form in which it is sent.
    ///   - target: the value of ``target(_:)``.
    func request(
        for batch: Batch, _ body: EncodedBody, as form: some HTTPForm, headers: ResolvedHeaders,
        to target: HTTPRequest.Target
    ) -> HTTPRequest {
        var headers = headers
        var request = HTTPRequest(target: target)
        request.target.isSentOnce = !isRepeated
        headers.addDefault("Idempotency-Key", batch.idempotencyKey)
        switch form.method {
        case .get: request.target.url = EventURL(endpoint: endpoint, event: batch.body).text
        case .post:
            request.body = body.bytes
            headers.addDefault("Content-Type", form.contentType)
            if let coding = body.coding { headers.addDefault("Content-Encoding", coding.rawValue) }
        }
        request.fields = headers.fields
        return request
    }

    /// Returns the function that converts and compresses bodies, or nil if bodies are sent unchanged.
    func encoder(for form: some HTTPForm) -> BodyEncoder.Encoder? {
        guard form.method == .post else { return nil }
        let (conversion, coding) = (form.conversion, contentCoding)
        guard conversion != nil || coding != nil else { return nil }
        return { EncodedBody(conversion?($0) ?? $0, by: coding) }
    }

    /// The compression of bodies, or nil for none.
    private var contentCoding: ContentCoding? {
        if zstd { return .zstd }
        return gzip ? .gzip : nil
    }
}

/// A URL with one event as JSON in the query parameter `event` (Behaviour K1, method GET).
private struct EventURL {
    let text: String

    /// - Parameter endpoint: the destination's URL, which may have a query. Its fragment is dropped.
    init(endpoint: String, event: [UInt8]) {
        let base = endpoint.prefix { $0 != "#" }
        text = "\(base)\(Self.separator(behind: base))event=\(PercentEncoding.unreserved(event))"
    }

    private static func separator(behind base: Substring) -> String {
        guard base.contains("?") else { return "?" }
        return base.hasSuffix("?") || base.hasSuffix("&") ? "" : "&"
    }
}
