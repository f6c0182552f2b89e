import HeadgateCore

/// Asks a server from time to time until it answers, whatever it answers.
final class NetworkProbe {
    private let settings: NetworkSettings.Probe
    private let worker: LoopWorker
    private let http: HTTPClient
    private var onAnswer: (() -> Void)?
    private var alarm: (any Disposable)?
    private var transfer: HTTPTransfer?

    init(_ settings: NetworkSettings.Probe, worker: LoopWorker, http: HTTPClient) {
        self.settings = settings
        self.worker = worker
        self.http = http
    }

    /// Begins to ask; `onAnswer` is called at the first answer, after which it asks no more.
    func start(_ onAnswer: @escaping () -> Void) {
        stop()
        self.onAnswer = onAnswer
        ask()
    }

    /// Asks no more.
    func stop() {
        onAnswer = nil
        alarm?.dispose()
        alarm = nil
        transfer.map(http.cancel)
        transfer = nil
    }

    private func ask() {
        var request = HTTPRequest(url: settings.url, method: .get)
        request.timeout = settings.timeout
        request.connectTimeout = settings.timeout
        transfer = http.send(request) { [weak self] in self?.take($0) }
    }

    private func take(_ outcome: HTTPOutcome) {
        transfer = nil
        if case .answered = outcome {
            let told = onAnswer
            stop()
            told?()
        } else {
            alarm = worker.schedule(at: worker.now + settings.interval) { [weak self] in self?.ask() }
        }
    }
}
