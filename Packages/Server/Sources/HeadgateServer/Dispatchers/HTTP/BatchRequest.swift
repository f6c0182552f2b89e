import HeadgateCore
import HeadgateData

extension HTTPSettings {
    /// The form of a batch's body.
    var batchFormat: BatchFormat {
        guard method == .post else { return .single }
        return switch format {
        case .jsonArray: .jsonArray
        case .ndjson: .ndjson
        case .envelope: .envelope(schema: envelopeSchema)
        case .cloudEvents: .cloudEvents(cloudEvents)
        case .singleCloudEvent: .singleCloudEvent(cloudEvents)
        }
    }

    /// The parts that all requests share, except files. It is made once, because that takes time.
    var target: HTTPRequest.Target {
        HTTPRequest.Target(
            url: endpoint, method: method, timeout: timeout, connectTimeout: connectTimeout, unixSocket: unixSocket,
            isLoopback: isLoopback)
    }

    /// Returns the request that sends a batch to the destination.
    /// - Parameters:
    ///   - body: the batch's body in the form in which it is sent.
    ///   - target: the value of ``target``.
    func request(
        for batch: Batch, _ body: EncodedBody, headers: ResolvedHeaders, to target: HTTPRequest.Target
    ) -> HTTPRequest {
        var headers = headers
        var request = HTTPRequest(target: target)
        request.target.isSentOnce = !isRepeated
        headers.addDefault("Idempotency-Key", batch.idempotencyKey)
        switch method {
        case .get: request.target.url = EventURL(endpoint: endpoint, event: batch.body).text
        case .post:
            request.body = body.bytes
            headers.addDefault("Content-Type", format.contentType)
            if let coding = body.coding { headers.addDefault("Content-Encoding", coding.rawValue) }
        }
        request.fields = headers.fields
        return request
    }

    /// The compression of bodies, or nil for none.
    var contentCoding: ContentCoding? {
        guard method == .post else { return nil }
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
