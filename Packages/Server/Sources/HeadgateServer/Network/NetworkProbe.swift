import HeadgateCore

/// Asks a server from time to time until it answers, whatever it answers (Behaviour B21).
final class NetworkProbe {
    private let settings: NetworkSettings.Probe
    private let worker: any Worker
    private let http: HTTPClient
    private var onAnswer: (() -> Void)?
    private var alarm: (any Disposable)?
    private var transfer: HTTPTransfer?
    private var lastAsked: Instant?

    init(_ settings: NetworkSettings.Probe, worker: any Worker, http: HTTPClient) {
        self.settings = settings
        self.worker = worker
        self.http = http
    }

    deinit {
        stop()
    }

    /// Begins to ask: at once, but never sooner than an interval after it asked last, however often it begins.
    /// `onAnswer` is called at the first answer, after which it asks no more. One that is asking already goes on.
    func start(_ onAnswer: @escaping () -> Void) {
        guard self.onAnswer == nil else { return }
        self.onAnswer = onAnswer
        askWhenDue()
    }

    /// Asks no more.
    func stop() {
        onAnswer = nil
        alarm?.dispose()
        alarm = nil
        transfer.map(http.cancel)
        transfer = nil
    }

    private func askWhenDue() {
        guard let lastAsked, worker.now < lastAsked + settings.interval else { return ask() }
        alarm = worker.schedule(at: lastAsked + settings.interval) { [weak self] in
            self?.alarm = nil
            self?.ask()
        }
    }

    private func ask() {
        lastAsked = worker.now
        var request = HTTPRequest(url: settings.url, method: .get)
        request.timeout = settings.timeout
        request.connectTimeout = settings.timeout
        transfer = http.send(request) { [weak self] in self?.take($0) }
    }

    private func take(_ outcome: HTTPOutcome) {
        transfer = nil
        guard case .answered = outcome else { return askWhenDue() }
        let told = onAnswer
        stop()
        told?()
    }
}
