import HeadgateCore
import HeadgateData

extension ConfiguredDispatcher {
    /// Reads an entry of `dispatchers`; what is wrong with it is noted and stands at its default.
    /// - Parameter own: the kinds that the program brings; true for those beyond a network.
    init(id: String, _ reader: SettingsReader, rules: RuleReader, own: [String: Bool]) {
        if let complaint = DispatcherID.complaint(about: id) { reader.fault(complaint) }
        common = DispatcherSettings(id: id)
        common.read(reader)
        common.loadRule = rules.rule("load_rule", in: reader)
        // A kind that is refused is held against nothing; which of those that exist stands in for it does not matter.
        kind = .file(FileSettings(path: ""))
        readKind(reader, own: own)
        common.boundHand(reader)
        readOutputs(reader)
    }

    /// What its headers take from the board before it, that board has to put out (Behaviour A9).
    private mutating func readOutputs(_ reader: SettingsReader) {
        guard case .http(let http) = kind, !http.outputs.isEmpty else { return }
        if common.activationBarrier == nil {
            reader.fault("headers", "", "take a board's output, and there is no activation_barrier")
        }
        common.activationBarrier?.outputs = http.outputs
    }

    private mutating func readKind(_ reader: SettingsReader, own: [String: Bool]) {
        switch reader.item("kind").map(String.init(dataItem:)) {
        case "http": kind = .http(HTTPSettings(reader, common: &common))
        case "file": kind = .file(FileSettings(reader))
        case "worker": kind = .worker(WorkerSettings(reader, common: &common))
        case "nats": kind = .nats(NATSSettings(reader))
        case let given:
            if let name = given ?? nil, let reachesNetwork = own[name] {
                kind = .own(OwnKindSettings(name, reachesNetwork: reachesNetwork, reader))
                return
            }
            reader.acceptEveryKey()
            reader.fault("kind", "", Self.complaint(aboutKind: given, own: own.keys.sorted()))
        }
    }

    /// The message for a kind that is absent, no string or none of those that exist.
    private static func complaint(aboutKind given: String??, own: [String]) -> String {
        let allowed = SettingsReader.mustBeOne(of: DispatcherKindSettings.names + own)
        return given == nil ? "is required, and \(allowed)" : allowed
    }
}

extension DispatcherSettings {
    /// Reads what all kinds can be told, but for what is about HTTP's answers.
    mutating func read(_ reader: SettingsReader) {
        reader.integer("dispatch_limit", in: 1...DispatcherSettings.mostInHand, into: &dispatchLimit)
        reader.integer("byte_limit", in: 1...(1 << 30), into: &byteLimit)
        reader.integer("in_flight", in: 1...DispatcherSettings.mostInFlight, into: &inFlight)
        reader.integer("max_attempts", in: 1...SettingsReader.most, into: &maxAttempts)
        reader.seconds("max_retry_age_s", into: &maxRetryAge)
        reader.section("backoff") { backoff in
            backoff.milliseconds("base_ms", into: &backoffBase)
            backoff.milliseconds("cap_ms", into: &backoffCap)
        }
        reader.bool("retry_failed_requests", into: &retryFailedRequests)
        reader.bool("annotate_queued", into: &annotateQueued)
        reader.section("activation_barrier") { activationBarrier = DispatcherActivation($0) }
    }

    /// What is on its way is in memory, and about as much waits there behind it (Behaviour Q6).
    fileprivate func boundHand(_ reader: SettingsReader) {
        guard dispatchLimit * inFlight > DispatcherSettings.mostInHand else { return }
        let most = DispatcherSettings.mostInHand
        reader.fault("in_flight", "", "times dispatch_limit must be no more than \(most)")
    }

    /// Reads what decides about HTTP's answers (Behaviour D3, D7).
    mutating func readAnswers(_ reader: SettingsReader) {
        reader.word("on_unauthorized", of: [.dead, .pause], into: &onUnauthorized)
        reader.section("retry_for_status_codes") { codes in
            for key in codes.keys { readStatusCode(key, codes) }
        }
    }

    private mutating func readStatusCode(_ key: String, _ reader: SettingsReader) {
        guard let retry = reader.value(key, Bool.self, mustBe: "true (retry) or false (give up)") else { return }
        // 2xx is delivered before any rule is asked, and 1xx never ends an attempt.
        guard let code = Int(key), (300...999).contains(code), key == String(code) else {
            return reader.fault(key, "", "must be a status code from 300 to 999")
        }
        retryForStatusCodes[code] = retry
    }
}

extension DispatcherActivation {
    fileprivate init(_ reader: SettingsReader) {
        reader.require("board")
        self.init(board: reader.boardName("board") ?? "", sticky: reader.milliseconds("sticky_ms"))
    }
}
