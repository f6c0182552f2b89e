import CCurl
import HeadgateCore
import HeadgateData
import HeadgateTransport

/// The sender of dispatchers over HTTP (Behaviour K1, K7). It sends one request for each batch, and several at once if
/// the settings say so.
final class HTTPSender: Sender {
    let format: BatchFormat

    private let settings: HTTPSettings
    private let form: any HTTPForm
    private let client: HTTPClient
    private let target: HTTPRequest.Target
    private let endpointSecrets: [String]
    /// The encoder that converts and compresses bodies, or nil if bodies are sent unchanged.
    private let encoder: BodyEncoder?
    /// The reader of the files that requests need, or nil if they need none.
    private let files: RequestFiles?
    private var losses = LostBodies()
    private var inFlight: [Int: Flight] = [:]
    private var nextFlight = 0

    /// A batch in flight.
    private struct Flight {
        /// The transfer, or nil before it starts and if it cannot start.
        var transfer: HTTPTransfer?
        var then: (SendResult) -> Void
    }

    /// Makes a sender, and the threads that it needs.
    /// - Parameters:
    ///   - client: the client that all dispatchers of the service share.
    ///   - reader: reads the files that requests need.
    ///   - encoder: replaces the form's conversion and the settings' compression, if the sender has either.
    init(
        _ settings: HTTPSettings, as form: some HTTPForm, client: HTTPClient,
        reader: @escaping RequestFiles.Reader = { SmallFile($0).contents(upTo: $1) },
        encoder: BodyEncoder.Encoder? = nil
    ) throws(TransportError) {
        (self.settings, self.form, self.client) = (settings, form, client)
        format = form.batchFormat
        target = settings.target(form.method)
        endpointSecrets = (URLCredentials(url: settings.endpoint)?.secrets ?? []) + ProxySecrets.ofEnvironment
        self.encoder = try settings.encoder(for: form).map { made throws(TransportError) in
            try BodyEncoder(loop: client.loop, encoder: encoder ?? made)
        }
        let paths = settings.files
        files = paths.isEmpty ? nil : try RequestFiles(paths, loop: client.loop, reader: reader)
    }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        let flight = nextFlight
        nextFlight += 1
        inFlight[flight] = Flight(then: then)
        guard let encoder else { return readFiles(flight, batch, EncodedBody(batch.body)) }
        encoder.encode(batch.body) { [weak self] body in self?.readFiles(flight, batch, body) }
    }

    func interrupt() {
        let given = inFlight.sorted { $0.key < $1.key }
        cancelTransfers()
        // Before the end of the turn, so that a body or file that becomes ready in this turn starts no transfer.
        inFlight = [:]
        client.loop.atEndOfTurn { for (_, flight) in given { flight.then(.interrupted) } }
    }

    /// Ends all transfers. The connections stay open, because other dispatchers share them.
    func close() {
        encoder?.close()
        files?.close()
        cancelTransfers()
        inFlight = [:]
    }

    private func cancelTransfers() {
        for flight in inFlight.values {
            if let transfer = flight.transfer { client.cancel(transfer) }
        }
    }

    // MARK: Sending one batch

    private func readFiles(_ flight: Int, _ batch: Batch, _ body: EncodedBody) {
        guard let files else { return start(flight, batch, body, [:]) }
        files.read(within: min(settings.connectTimeout, settings.timeout)) { [weak self] contents in
            guard let self else { return }
            guard let contents else { return end(flight, .noAnswer(cause: Self.lateFiles)) }
            start(flight, batch, body, contents)
        }
    }

    /// Starts the transfer, unless the batch was interrupted while it waited for its body or files.
    private func start(_ flight: Int, _ batch: Batch, _ body: EncodedBody, _ contents: RequestFiles.Contents) {
        guard inFlight[flight] != nil else { return }
        do {
            try transfer(flight, batch, body, contents)
        } catch {
            let cause = Self.cause(of: error)
            client.loop.atEndOfTurn { self.end(flight, .noAnswer(cause: cause)) }
        }
    }

    private func transfer(
        _ flight: Int, _ batch: Batch, _ body: EncodedBody, _ contents: RequestFiles.Contents
    ) throws {
        let headers = try ResolvedHeaders(settings.headers, output: batch.output, files: contents)
        let mask = SecretMask(headers.secrets + endpointSecrets)
        var request = settings.request(for: batch, body, as: form, headers: headers, to: target)
        request.target.tls = try TLSFiles(settings.tls, contents)
        request.expectsContinue = losses.include(batch)
        request.answerHeaders = [Self.retryAfter, AnswerText.codingHeader]
        // One more byte shows whether the excerpt would end inside a character.
        request.answerLimit = max(form.successLimit, Self.excerptLimit + max(1, mask.longest))
        let limit = request.answerLimit
        inFlight[flight]?.transfer = client.send(request) { outcome in
            self.losses.ended(batch, outcome)
            self.end(flight, self.result(of: outcome, mask, keptAtMost: limit))
        }
    }

    private static func cause(of fault: any Error) -> String {
        switch fault {
        case let fault as HeaderFault: fault.cause
        case let fault as TLSFiles.Fault: fault.cause
        default: "the request could not be created"
        }
    }

    private func end(_ flight: Int, _ result: SendResult) {
        inFlight.removeValue(forKey: flight)?.then(result)
    }

    private func result(of outcome: HTTPOutcome, _ mask: SecretMask, keptAtMost limit: Int) -> SendResult {
        switch outcome {
        case .failed(let cause, _): return .noAnswer(cause: cause)
        case .unmade(let cause): return .unsendable(cause: cause)
        case .refusedByProxy(let answer):
            return HTTPAnswerPolicy.refusalByProxy(status: answer.status, retryAfter: retryAfter(of: answer))
        case .answered(let answer) where answer.isSuccess:
            if let fault = answer.fault { return .noAnswer(cause: fault) }
            return form.outcome(ofSuccess: AnswerText.plain(answer, mostBytes: form.successLimit))
        case .answered(let answer):
            let isCut = answer.fault != nil || answer.body.count >= limit
            let text = AnswerText(answer, isCut: isCut, mostBytes: limit, message: form.message(ofRefusal:))
                .excerpt(mask, limit: Self.excerptLimit)
            return .refused(
                settings.answers.refusal(status: answer.status, retryAfter: retryAfter(of: answer), answer: text))
        }
    }

    private func retryAfter(of answer: HTTPAnswer) -> Duration? {
        answer.headers[Self.retryAfter].flatMap { RetryAfter.wait($0, at: client.loop.wallNow) }
    }

    private static let retryAfter = "Retry-After"
    private static let lateFiles = "the files for headers and TLS could not be read in time"
    /// The most bytes of an answer that are kept for people.
    private static let excerptLimit = 512
}

/// The batches whose connection was lost before the server had read the body, perhaps because the server answered early and
/// closed the connection. The next attempt asks the server before it sends the body (Behaviour D6).
struct LostBodies {
    /// The sequence numbers of these batches, from the first to the last event. Halves of a batch lie in its range.
    private var ranges: [ClosedRange<SequenceNumber>] = []

    /// The most ranges. When there are more, all are forgotten, because ranges of expired events are never removed
    /// otherwise.
    private static let most = 64

    /// Returns true if a batch overlaps a lost batch.
    func include(_ batch: Batch) -> Bool {
        guard let range = LostBodies.range(of: batch) else { return false }
        return ranges.contains { $0.overlaps(range) }
    }

    /// Remembers or forgets a batch by the outcome of its attempt.
    mutating func ended(_ batch: Batch, _ outcome: HTTPOutcome) {
        guard let range = LostBodies.range(of: batch) else { return }
        switch outcome {
        // The batch is halved. The server is also asked before the bodies of the halves.
        case .answered(let answer) where answer.status == 413 && batch.events.count > 1: break
        case .answered: forget(range)
        case .failed(_, isLost: true):
            guard !ranges.contains(where: { $0.contains(range.lowerBound) }) else { return }
            if ranges.count >= LostBodies.most { ranges = [] }
            ranges.append(range)
        case .failed, .refusedByProxy, .unmade: break
        }
    }

    /// Removes the answered events from the ranges, with the events before them. Events after the answered batch stay
    /// in their range.
    private mutating func forget(_ answered: ClosedRange<SequenceNumber>) {
        ranges = ranges.compactMap { range in
            guard range.overlaps(answered) else { return range }
            return range.upperBound > answered.upperBound ? answered.upperBound + 1...range.upperBound : nil
        }
    }

    private static func range(of batch: Batch) -> ClosedRange<SequenceNumber>? {
        guard let first = batch.events.first, let last = batch.events.last else { return nil }
        return first.sequenceNumber...max(first.sequenceNumber, last.sequenceNumber)
    }
}

/// The header `Retry-After`: seconds, or an HTTP date (RFC 9110, 10.2.3). Other values are ignored (Behaviour D5).
enum RetryAfter {
    /// Returns the time to wait, or nil if the header is malformed. A date in the past means no wait.
    ///
    /// libcurl parses only the date. Its own parser of the whole header (`CURLINFO_RETRY_AFTER`) accepts `3 seconds`
    /// and `1e3` as numbers.
    static func wait(_ header: String, at wall: Timestamp) -> Duration? {
        if !header.isEmpty, header.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
            return .seconds(Int64(header) ?? longest)
        }
        let date = curl_getdate(header, nil)
        guard date >= 0 else { return nil }
        return max(.zero, .seconds(date) - .milliseconds(wall.milliseconds))
    }

    /// The wait for a number of seconds that is too large to count.
    private static let longest = Int64.max
}
