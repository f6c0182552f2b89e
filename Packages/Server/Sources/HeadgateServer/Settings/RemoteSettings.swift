import Glibc
import HeadgateCore
import HeadgateData
import HeadgateEncryption
import HeadgateTransport
import HeadgateWire

/// The client that fetches the remote layer of the settings at intervals (Behaviour S1). The last settings are kept in
/// the data directory, so that a start without the server has them, too.
final class RemoteSettings {
    private let source: RemoteSource
    private let copy: RemoteSettingsCopy
    private let scheduler: any Scheduler
    private let http: HTTPClient
    /// Reads the files of headers and TLS, or nil if there are none.
    private let files: RequestFiles?
    private let pace: RemotePace
    private let onFound: (Found) -> Bool
    private var scheduled: (any Disposable)?
    private var transfer: HTTPTransfer?
    /// The `ETag` of the last answer.
    private var tag: String?

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

    /// The most bytes of an answer.
    private static let longest = SettingsFile.longest
    private static let tagName = "ETag"
    /// The longest time that a request may take.
    private static let timeout = Duration.seconds(30)
    private static let connectTimeout = Duration.seconds(10)

    /// Makes a source that has not fetched anything. Returns nil without an event loop, which HTTP needs, or if no
    /// thread can be started to read files.
    /// - Parameters:
    ///   - pace: limits the rate of requests across changes of the source.
    ///   - keyring: the keys of the copy in the data directory; nil if it is not encrypted.
    ///   - onFound: called with the result of each fetch, and first with the copy in the data directory. Returns false
    ///     if the settings are refused. They are then not written to the copy.
    init?(
        _ source: RemoteSource, in context: SenderContext, pace: RemotePace, keyring: Keyring?,
        onFound: @escaping (Found) -> Bool
    ) {
        guard let http = context.http else { return nil }
        let paths = HTTPSettings.files(source.headers, source.tls)
        do throws(TransportError) {
            files =
                paths.isEmpty
                ? nil : try RequestFiles(paths, loop: http.loop, reader: { SmallFile($0).contents(upTo: $1) })
        } catch {
            return nil
        }
        self.http = http
        self.source = source
        self.pace = pace
        self.onFound = onFound
        scheduler = context.scheduler
        copy = RemoteSettingsCopy(directory: context.dataDirectory, keyring: keyring)
    }

    deinit {
        scheduled?.dispose()
        files?.close()
        transfer.map(http.cancel)
    }

    /// Reads the copy in the data directory, and starts to fetch.
    func start() {
        if let kept = copy.read(url: source.url) {
            tag = kept.tag
            _ = onFound(.settings(kept.settings))
        }
        fetch(after: .zero)
    }

    /// Schedules the next request. It comes later if another one has just been sent.
    private func fetch(after wait: Duration) {
        let due = max(scheduler.now + wait, pace.earliest(at: scheduler.now))
        scheduled = scheduler.schedule(at: due) { [weak self] in self?.fetch() }
    }

    private func fetch() {
        pace.requested(at: scheduler.now)
        guard let files else { return send([:]) }
        files.read(within: RemoteSettings.connectTimeout) { [weak self] contents in
            guard let contents else {
                self?.ended(.nothing(cause: "the files for headers and TLS could not be read in time"))
                return
            }
            self?.send(contents)
        }
    }

    private func send(_ contents: RequestFiles.Contents) {
        do {
            let request = try request(contents)
            transfer = http.send(request) { [weak self] in self?.take($0) }
        } catch let fault as HeaderFault {
            ended(.nothing(cause: fault.cause))
        } catch {
            ended(.nothing(cause: (error as? TLSFiles.Fault)?.cause ?? "the request could not be created"))
        }
    }

    private func request(_ contents: RequestFiles.Contents) throws -> HTTPRequest {
        var target = HTTPRequest.Target(url: source.url, method: .get)
        (target.timeout, target.connectTimeout) = (RemoteSettings.timeout, RemoteSettings.connectTimeout)
        target.isLoopback = source.isLoopback
        target.tls = try TLSFiles(source.tls, contents)
        var request = HTTPRequest(target: target)
        request.fields = try ResolvedHeaders(source.headers, output: [:], files: contents).fields
        request.answerHeaders = [RemoteSettings.tagName]
        (request.answerLimit, request.longestSuccess) = (RemoteSettings.longest, RemoteSettings.longest)
        if let tag { request.fields.append(HTTPField(name: "If-None-Match", value: tag)) }
        return request
    }

    private func take(_ outcome: HTTPOutcome) {
        transfer = nil
        switch outcome {
        case .failed(let cause, _), .unmade(let cause): ended(.nothing(cause: cause))
        case .refusedByProxy(let answer): ended(.nothing(cause: "the proxy answered HTTP \(answer.status)"))
        case .answered(let answer) where answer.status == 304 && tag != nil: ended(.unchanged)
        case .answered(let answer) where !answer.isSuccess: ended(.nothing(cause: "HTTP \(answer.status)"))
        case .answered(let answer):
            if let fault = answer.fault { ended(.nothing(cause: fault)) } else { read(answer) }
        }
    }

    private func read(_ answer: HTTPAnswer) {
        do throws(SettingsFault) {
            let settings = try SettingsText.parse(answer.body)
            tag = answer.headers[RemoteSettings.tagName]
            if ended(.settings(settings)) { copy.write(settings, tag: tag, url: source.url) }
        } catch {
            // The next answer is judged again, also if the server returns to the document that had the tag.
            tag = nil
            ended(.unreadable(error))
        }
    }

    /// Schedules the next request, and reports the result of this one. The callback may release this object.
    @discardableResult
    private func ended(_ found: Found) -> Bool {
        fetch(after: source.refresh)
        return onFound(found)
    }
}

/// The limit of one request a second for remote settings, across all changes of the source (Behaviour S1).
final class RemotePace {
    private var last: Instant?
    private static let shortest = Duration.seconds(1)

    func requested(at now: Instant) { last = now }

    /// Returns the earliest time of the next request.
    func earliest(at now: Instant) -> Instant { last.map { $0 + RemotePace.shortest } ?? now }
}

/// The copy of the remote settings in the data directory, with their URL and `ETag`.
struct RemoteSettingsCopy {
    private let path: String
    /// The keys; nil if the file is not encrypted.
    private let keyring: Keyring?

    /// The file's name in the data directory.
    static let name = "remote-settings.json"

    init(directory: String, keyring: Keyring? = nil) {
        path = "\(directory)/\(RemoteSettingsCopy.name)"
        self.keyring = keyring
    }

    /// Reads the copy. Returns nil if it is missing, damaged or from another URL.
    func read(url: String) -> (settings: DataObject, tag: String?)? {
        guard let bytes = SmallFile(path).contents(upTo: 2 * SettingsFile.longest),
            let text = SealedFile.content(bytes, of: RemoteSettingsCopy.name, under: keyring),
            let copy = try? SettingsText.parse(text), copy.get(key: "url", as: String.self) == url,
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
        write(json.bytes)
    }

    /// Writes the copy again if it is not encrypted as the present keys require.
    func rekey() {
        guard let keyring, let bytes = SmallFile(path).contents(upTo: 2 * SettingsFile.longest),
            !SealedFile.isCurrent(bytes, under: keyring),
            let text = SealedFile.content(bytes, of: RemoteSettingsCopy.name, under: keyring)
        else { return }
        write(text)
    }

    private func write(_ text: [UInt8]) {
        let content = SealedFile.bytes(text, as: RemoteSettingsCopy.name, under: keyring)
        let fresh = "\(path).new"
        let file = OwnFile.create(fresh)
        guard file >= 0 else { return }
        let isWritten = Glibc.write(file, content, content.count) == content.count && fsync(file) == 0
        Glibc.close(file)
        if isWritten { rename(fresh, path) } else { unlink(fresh) }
    }
}
