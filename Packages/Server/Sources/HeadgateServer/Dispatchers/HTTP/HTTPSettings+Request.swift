import HeadgateCore

extension HTTPSettings {
    /// How the destination wants its events.
    var batchFormat: BatchFormat {
        guard method == .post else { return .single }
        return switch format {
        case .jsonArray: .jsonArray
        case .ndjson: .ndjson
        case .envelope: .envelope(schema: envelopeSchema)
        }
    }

    /// The request that takes a batch to the destination.
    func request(for batch: Batch, headers: ResolvedHeaders) -> HTTPRequest {
        var headers = headers
        var request = HTTPRequest(url: endpoint, method: method, timeout: timeout, connectTimeout: connectTimeout)
        request.unixSocket = unixSocket
        request.isLoopback = isLoopback
        request.isSentOnce = batch.isOversize || !isRepeated
        headers.addDefault("Idempotency-Key", batch.idempotencyHeader)
        switch method {
        case .get: request.url = EventURL(endpoint: endpoint, event: batch.body).text
        case .post: request.body = body(of: batch, &headers)
        }
        request.fields = headers.fields
        return request
    }

    /// The body, and the headers that say what it is.
    private func body(of batch: Batch, _ headers: inout ResolvedHeaders) -> [UInt8] {
        headers.addDefault("Content-Type", format == .ndjson ? "application/x-ndjson" : "application/json")
        guard gzip, let compressed = Gzip.compressed(batch.body) else { return batch.body }
        headers.addDefault("Content-Encoding", "gzip")
        return compressed
    }
}
