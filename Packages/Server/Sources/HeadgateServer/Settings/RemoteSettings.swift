import Glibc
import HeadgateCore
import HeadgateData
import HeadgateWire

/// Fetches the remote layer of the settings from time to time (Behaviour S1). What came last is kept in the data
/// directory, so that a start without the server has it too.
final class RemoteSettings {
    private let source: RemoteSource
    private let copy: RemoteSettingsCopy
    private let scheduler: any Scheduler
    private let http: HTTPClient
    private let onSettings: (Result<DataObject, SettingsFault>) -> Bool
    private var alarm: (any Disposable)?
    private var transfer: HTTPTransfer?
    /// The `ETag` of what came last.
    private var tag: String?

    /// The largest answer that is read.
    private static let longest = 4 << 20
    private static let tagName = "ETag"

    /// Nil where nothing can be fetched, for want of an event loop.
    /// - Parameter onSettings: gets the settings each time that they are other ones, or the fault that keeps them from being
    ///   read; returns false if they are refused, and not kept.
    init?(
        _ source: RemoteSource, in surroundings: SenderSurroundings,
        onSettings: @escaping (Result<DataObject, SettingsFault>) -> Bool
    ) {
        guard let http = surroundings.http else { return nil }
        self.http = http
        self.source = source
        self.onSettings = onSettings
        scheduler = surroundings.scheduler
        copy = RemoteSettingsCopy(directory: surroundings.dataDirectory)
    }

    deinit {
        alarm?.dispose()
        transfer.map(http.cancel)
    }

    /// Takes up the copy, and begins to ask.
    func start() {
        if let kept = copy.read(url: source.url) {
            tag = kept.tag
            _ = onSettings(.success(kept.settings))
        }
        fetch()
    }

    private func fetch() {
        var request = HTTPRequest(target: HTTPRequest.Target(url: source.url, method: .get))
        request.answerHeaders = [RemoteSettings.tagName]
        request.answerLimit = RemoteSettings.longest
        if let tag { request.fields.append(HTTPField(name: "If-None-Match", value: tag)) }
        transfer = http.send(request) { [weak self] in self?.take($0) }
    }

    /// Anything but a whole object leaves the settings as they are.
    private func take(_ outcome: HTTPOutcome) {
        transfer = nil
        alarm = scheduler.schedule(at: scheduler.now + source.refresh) { [weak self] in self?.fetch() }
        guard case .answered(let answer) = outcome, answer.isSuccess, answer.fault == nil else { return }
        tag = answer.headers[RemoteSettings.tagName]
        do throws(SettingsFault) {
            let settings = try SettingsText.parse(answer.body)
            if onSettings(.success(settings)) { copy.write(settings, tag: tag, url: source.url) }
        } catch {
            _ = onSettings(.failure(error))
        }
    }
}

/// The copy of the remote settings in the data directory, with the URL they came from and their `ETag`.
struct RemoteSettingsCopy {
    private let path: String

    /// The file's name in the data directory.
    static let name = "remote-settings.json"

    init(directory: String) {
        path = "\(directory)/\(RemoteSettingsCopy.name)"
    }

    /// The copy, if there is one from this URL that can be read.
    func read(url: String) -> (settings: DataObject, tag: String?)? {
        guard let copy = try? SettingsFile.read(path), copy.get(key: "url", as: String.self) == url,
            let settings = copy.get(key: "settings", as: DataObject.self)
        else { return nil }
        return (settings, copy.get(key: "etag"))
    }

    /// Replaces the copy whole. One that cannot be written is no fault: it is only needed when the server is away at a start.
    func write(_ settings: DataObject, tag: String?, url: String) {
        var copy: DataObject = ["url": .string(url), "settings": .object(settings)]
        if let tag { copy["etag"] = .string(tag) }
        var json = JSONWriter()
        json.object(copy)
        let fresh = "\(path).new"
        let file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        let isWritten = Glibc.write(file, json.bytes, json.bytes.count) == json.bytes.count && fsync(file) == 0
        Glibc.close(file)
        if isWritten { rename(fresh, path) } else { unlink(fresh) }
    }
}
