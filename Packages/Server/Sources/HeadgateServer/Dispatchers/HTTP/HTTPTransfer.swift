import CCurl

/// One request on its way, and what has come of its answer.
final class HTTPTransfer {
    let request: HTTPRequest
    /// libcurl's side of it.
    let easy: UnsafeMutableRawPointer
    let then: (HTTPOutcome) -> Void

    /// The first option that libcurl did not take.
    private(set) var optionError = CURLE_OK
    private var lines: UnsafeMutablePointer<curl_slist>?
    private var kept: [UInt8] = []
    private var received = 0
    private var headerReceived = 0

    init(_ request: HTTPRequest, _ then: @escaping (HTTPOutcome) -> Void) {
        self.request = request
        self.then = then
        // Nil only when there is no memory, with which Swift cannot go on either.
        easy = curl_easy_init()!
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(lines)
    }

    /// Sets one option, unless an earlier one has failed.
    func set(_ option: (UnsafeMutableRawPointer) -> CURLcode) {
        guard optionError == CURLE_OK else { return }
        optionError = option(easy)
    }

    func set(_ option: CURLoption, _ value: Int) {
        set { ccurl_set_long($0, option, value) }
    }

    func set(_ option: CURLoption, _ value: String?) {
        set { ccurl_set_string($0, option, value) }
    }

    /// Adds a line to the request's header.
    func add(_ line: String) {
        guard let extended = curl_slist_append(lines, line) else {
            optionError = CURLE_OUT_OF_MEMORY
            return
        }
        lines = extended
    }

    /// Hands the lines added so far to libcurl.
    func setLines() {
        set { ccurl_set_list($0, CURLOPT_HTTPHEADER, lines) }
    }

    /// Takes a piece of the answer's body; false ends the transfer. A success is read to its end, as only a whole one
    /// counts; of any other answer the beginning will do.
    func take(_ piece: UnsafeRawBufferPointer) -> Bool {
        received += piece.count
        let room = max(0, request.answerLimit - kept.count)
        kept.append(contentsOf: piece.prefix(room))
        return received <= Self.longestRefusal || (200..<300).contains(ccurl_status(easy))
    }

    /// Counts a line of the answer's header, interim answers' among them; false ends the transfer.
    func takeHeader(_ count: Int) -> Bool {
        headerReceived += count
        return headerReceived <= Self.longestHeader
    }

    /// What came of it, by libcurl's word.
    func outcome(_ code: CURLcode) -> HTTPOutcome {
        let status = ccurl_status(easy)
        let fault = code == CURLE_OK ? nil : code.cause(connectError: ccurl_connect_error(easy))
        guard status >= 200 else { return .failed(cause: fault ?? "not an HTTP answer") }
        return .answered(HTTPAnswer(status: status, headers: answerHeaders, body: kept, fault: fault))
    }

    private var answerHeaders: [String: String] {
        var found: [String: String] = [:]
        for name in request.answerHeaders {
            found[name] = answerHeader(name)
        }
        return found
    }

    private func answerHeader(_ name: String) -> String? {
        var header: UnsafeMutablePointer<curl_header>?
        let ofLastAnswer: Int32 = -1
        let code = curl_easy_header(easy, name, 0, UInt32(CURLH_HEADER), ofLastAnswer, &header)
        guard code == CURLHE_OK else { return nil }
        return header.map { String(cString: $0.pointee.value) }
    }

    /// The most bytes of an answer that is no success; the connection is closed at more.
    private static let longestRefusal = 64 * 1024
    /// The most bytes of an answer's header; the connection is closed at more.
    private static let longestHeader = 64 * 1024
}
