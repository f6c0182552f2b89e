import HeadgateCore
import HeadgateData
import HeadgateWire

/// Fetches the remote layer of the settings from time to time (Behaviour S1). What came last is kept in the data
/// directory, so that a start without the server has it too.
final class RemoteSettings {
    private let source: RemoteSource
    private let copy: RemoteSettingsCopy
    private let worker: LoopWorker
    private let http: HTTPClient
    private let onSettings: (DataObject) -> Bool
    private var alarm: (any Disposable)?
    private var transfer: HTTPTransfer?
    /// The `ETag` of what came last.
    private var tag: String?

    /// The largest answer that is read.
    private static let longest = 4 << 20
    private static let tagName = "ETag"

    /// - Parameter onSettings: gets the settings each time that they are other ones; false: they are refused, and not kept.
    init(
        _ source: RemoteSource, directory: String, worker: LoopWorker, http: HTTPClient,
        onSettings: @escaping (DataObject) -> Bool
    ) {
        self.source = source
        self.worker = worker
        self.http = http
        self.onSettings = onSettings
        copy = RemoteSettingsCopy(directory: directory)
    }

    deinit {
        alarm?.dispose()
        transfer.map(http.cancel)
    }

    /// Takes up the copy, and begins to ask.
    func start() {
        if let kept = copy.read(url: source.url) {
            tag = kept.tag
            _ = onSettings(kept.settings)
        }
        fetch()
    }

    private func fetch() {
        var request = HTTPRequest(url: source.url, method: .get)
        request.answerHeaders = [RemoteSettings.tagName]
        request.answerLimit = RemoteSettings.longest
        if let tag { request.fields.append(HTTPField(name: "If-None-Match", value: tag)) }
        transfer = http.send(request) { [weak self] in self?.take($0) }
    }

    /// Anything but a whole object leaves the settings as they are.
    private func take(_ outcome: HTTPOutcome) {
        transfer = nil
        alarm = worker.schedule(at: worker.now + source.refresh) { [weak self] in self?.fetch() }
        guard case .answered(let answer) = outcome, answer.isSuccess, answer.fault == nil,
            let item = try? DataItem(parsing: answer.body), case .object(let settings) = item
        else { return }
        tag = answer.headers[RemoteSettings.tagName]
        guard onSettings(settings) else { return }
        copy.write(settings, tag: tag, url: source.url)
    }
}
