import Glibc
import HeadgateCore
import HeadgateData
import HeadgateWire

/// Fetches the remote layer of the settings at intervals (Behaviour S1). The last settings are kept in the data
/// directory, so that a start without the server has them, too.
final class RemoteSettings {
    private let source: RemoteSource
    private let copy: RemoteSettingsCopy
    private let scheduler: any Scheduler
    private let http: HTTPClient
    private let onFound: (Found) -> Bool
    private var alarm: (any Disposable)?
    private var transfer: HTTPTransfer?
    /// The `ETag` of the last answer.
    private var tag: String?

    /// The most bytes of an answer.
    private static let longest = 4 << 20
    private static let tagName = "ETag"

    /// The result of a fetch.
    enum Found {
        /// The server sent settings.
        case settings(DataObject)
        /// The server sent something else than settings.
        case unreadable(SettingsFault)
        /// The server has no newer settings.
        case unchanged
        /// The server did not answer, or answered with an error.
        case nothing(cause: String)
    }

    /// Makes a source that has not fetched anything. Returns nil without an event loop, which HTTP needs.
    /// - Parameter onFound: called with the result of each fetch, and first with the copy in the data directory. It
    ///   returns false if the settings are refused, which are then not kept.
    init?(
        _ source: RemoteSource, in surroundings: SenderSurroundings,
        onFound: @escaping (Found) -> Bool
    ) {
        guard let http = surroundings.http else { return nil }
        self.http = http
        self.source = source
        self.onFound = onFound
        scheduler = surroundings.scheduler
        copy = RemoteSettingsCopy(directory: surroundings.dataDirectory)
    }

    deinit {
        alarm?.dispose()
        transfer.map(http.cancel)
    }

    /// Reads the copy in the data directory, and starts to fetch.
    func start() {
        if let kept = copy.read(url: source.url) {
            tag = kept.tag
            _ = onFound(.settings(kept.settings))
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

    /// Any answer but a complete object leaves the settings as they are.
    private func take(_ outcome: HTTPOutcome) {
        transfer = nil
        alarm = scheduler.schedule(at: scheduler.now + source.refresh) { [weak self] in self?.fetch() }
        switch outcome {
        case .answered(let answer) where answer.isSuccess && answer.fault == nil: read(answer)
        case .answered(let answer) where answer.status == RemoteSettings.notModified && tag != nil:
            _ = onFound(.unchanged)
        case .answered(let answer): _ = onFound(.nothing(cause: answer.fault ?? "HTTP \(answer.status)"))
        case .refusedByProxy(let answer): _ = onFound(.nothing(cause: "the proxy answers HTTP \(answer.status)"))
        case .failed(let cause, _), .unmade(let cause): _ = onFound(.nothing(cause: cause))
        }
    }

    private static let notModified = 304

    private func read(_ answer: HTTPAnswer) {
        tag = answer.headers[RemoteSettings.tagName]
        do throws(SettingsFault) {
            let settings = try SettingsText.parse(answer.body)
            if onFound(.settings(settings)) { copy.write(settings, tag: tag, url: source.url) }
        } catch {
            _ = onFound(.unreadable(error))
        }
    }
}

/// The copy of the remote settings in the data directory, with their URL and `ETag`.
struct RemoteSettingsCopy {
    private let path: String

    /// The file's name in the data directory.
    static let name = "remote-settings.json"

    init(directory: String) {
        path = "\(directory)/\(RemoteSettingsCopy.name)"
    }

    /// Reads the copy. Returns nil if it is missing, damaged or from another URL.
    func read(url: String) -> (settings: DataObject, tag: String?)? {
        guard let copy = try? SettingsFile.read(path), copy.get(key: "url", as: String.self) == url,
            let settings = copy.get(key: "settings", as: DataObject.self)
        else { return nil }
        return (settings, copy.get(key: "etag"))
    }

    /// Replaces the whole copy. A failure is ignored: the copy is needed only if the server is unreachable at a start.
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
