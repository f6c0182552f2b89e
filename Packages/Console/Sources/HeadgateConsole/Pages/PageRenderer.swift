import HeadgateClient
import HeadgateData
import HeadgateText
import HeadgateTransport
import HeadgateWire

/// A renderer of pages, which also carries out the changes of their forms.
final class PageRenderer {
    /// Called with the answer to a request for a page.
    typealias Completion = (HTTPResponse) -> Void

    private let daemon: DaemonLink
    private let allowsControl: Bool
    private let loop: EventLoop

    init(daemon: DaemonLink, allowsControl: Bool, loop: EventLoop) {
        self.daemon = daemon
        self.allowsControl = allowsControl
        self.loop = loop
    }

    /// Returns the regions of a page in the present state.
    func regions(_ page: Route.Page) -> [Region] {
        shell.regions + ownRegions(page)
    }

    private func ownRegions(_ page: Route.Page) -> [Region] {
        switch page {
        case .overview: overview.regions
        case .barriers: BarriersPage(state: daemon.state, clock: .local).regions
        case .clients: ClientsPage(state: daemon.state).regions
        case .store: StorePage(state: daemon.state).regions
        case .problems: ProblemsPage(state: daemon.state, clock: .local).regions
        case .dispatcher(let id): dispatcher(id)?.regions ?? []
        case .queue, .deadLetters, .rewind, .event: []
        }
    }

    /// Answers a request for a page.
    func serve(_ page: Route.Page, _ request: HTTPRequest, _ then: @escaping Completion) {
        let note = Self.note(request)
        daemon.whenUpToDate { [self] in
            switch page {
            case .overview: answer(page, "Overview", overview.html, then)
            case .barriers: answer(page, "Barriers", BarriersPage(state: daemon.state, clock: .local).html, then)
            case .clients: serveClients(page, then)
            case .store: answer(page, "Store", StorePage(state: daemon.state).html, then)
            case .problems: answer(page, "Problems", ProblemsPage(state: daemon.state, clock: .local).html, then)
            case .event(let id): serveEvent(page, id, then)
            case .dispatcher(let id): serveDispatcher(page, id, note, then)
            case .queue(let id, let after): serveQueue(page, id, after, then)
            case .deadLetters(let id, let after): serveDeadLetters(page, id, after, then)
            case .rewind(let id, let to): serveRewind(page, id, to, then)
            }
        }
    }

    private func answer(
        _ page: Route.Page, _ title: String, note: String? = nil, _ body: HTML, _ then: Completion
    ) {
        then(HTTPResponse(200, type: Self.type, Array(shell.html(page, title, note: note, body).text.utf8)))
    }

    private var shell: PageFrame {
        PageFrame(state: daemon.state, clock: .local, socketPath: daemon.socketPath)
    }

    private var overview: OverviewPage {
        OverviewPage(state: daemon.state, history: daemon.history, time: Double(loop.monotonicNow) / 1e9)
    }

    private func dispatcher(_ id: String) -> DispatcherPage? {
        daemon.state.dispatcher(id).map {
            DispatcherPage(state: daemon.state, history: daemon.history, clock: .local, dispatcher: $0)
        }
    }

    private static let type = "text/html; charset=utf-8"

    // MARK: Pages with further content

    private func serveClients(_ page: Route.Page, _ then: @escaping Completion) {
        daemon.whenClientsAreKnown { [self] in answer(page, "Clients", ClientsPage(state: daemon.state).html, then) }
    }

    private func serveDispatcher(_ page: Route.Page, _ id: String, _ note: String?, _ then: @escaping Completion) {
        guard let own = daemon.state.dispatcher(id) else { return refuseDispatcher(id, then) }
        let few = DataItem.number(DataNumber(EventTables.few))
        gather([
            ("queue.peek", ["dispatcher": .string(id), "limit": few]),
            ("dead_letters.list", ["dispatcher": .string(id), "limit": few]), ("config.get", [:]),
        ]) { [self] answers in
            var contents = DispatcherPage.Contents()
            contents.waiting = answers[0].flatMap { try? PeekedEvents($0) }
            contents.deadLetters = answers[1].flatMap { try? DeadLetterPage($0) }
            contents.settings = answers[2]
            let controls = allowsControl ? DispatcherForms(dispatcher: own).html : ""
            // The dispatcher may have been removed meanwhile. Then the page shows its last state.
            let whole =
                dispatcher(id)
                ?? DispatcherPage(
                    state: daemon.state, history: daemon.history, clock: .local, dispatcher: own)
            answer(page, id, note: note, whole.html(contents, controls: controls), then)
        }
    }

    private func serveQueue(_ page: Route.Page, _ id: String, _ after: Int64?, _ then: @escaping Completion) {
        var params: DataObject = ["dispatcher": .string(id), "limit": .number(DataNumber(EventTables.many))]
        params["after"] = after.map { .number(DataNumber(Int($0))) }
        daemon.ask("queue.peek", params) { [self] result in
            do {
                let events = try PeekedEvents(result.get())
                let table = EventTables.waiting(events, for: id, .local)
                answer(page, "Pending events of \(id)", back(id) + table, then)
            } catch { fail(error, then) }
        }
    }

    private func serveDeadLetters(_ page: Route.Page, _ id: String, _ after: Int?, _ then: @escaping Completion) {
        var params: DataObject = ["dispatcher": .string(id), "limit": .number(DataNumber(EventTables.many))]
        params["after"] = after.map { .number(DataNumber($0)) }
        daemon.ask("dead_letters.list", params) { [self] result in
            do {
                let deadLetters = try DeadLetterPage(result.get())
                let table = EventTables.deadLetters(deadLetters, of: id, .local)
                answer(page, "Dead letters of \(id)", back(id) + table, then)
            } catch { fail(error, then) }
        }
    }

    private func serveRewind(_ page: Route.Page, _ id: String, _ to: String?, _ then: @escaping Completion) {
        let title = "Rewind \(id)"
        let rewind = RewindPage(dispatcher: id, clock: .local)
        guard let to else { return answer(page, title, back(id) + rewind.question(nil), then) }
        daemon.ask("dispatcher.rewind", RewindPage.params(id, to: to)) { [self] result in
            switch result {
            case .success(let preview): answer(page, title, back(id) + rewind.html(to, .possible(preview)), then)
            case .failure(ClientError.refused(let error)):
                answer(page, title, back(id) + rewind.html(to, .refused(error.message)), then)
            case .failure(let error): fail(error, then)
            }
        }
    }

    private func serveEvent(_ page: Route.Page, _ id: String?, _ then: @escaping Completion) {
        let eventPage = EventPage(state: daemon.state, clock: .local)
        guard let id else { return answer(page, "Event", eventPage.html(nil, .none), then) }
        daemon.ask("event.trace", ["id": .string(id), "namespace": "*"]) { [self] result in
            answer(page, "Event", eventPage.html(id, Self.finding(result)), then)
        }
    }

    private static func finding(_ result: Result<DataObject, any Error>) -> EventPage.Finding {
        switch result {
        case .success(let trace): return .events(trace.get(key: "events") ?? [])
        case .failure(ClientError.refused(let error)) where error.reason == .notFound:
            return .failed(
                "No event with this id is known: it was never received, or its outcome is no longer remembered.")
        case .failure(ClientError.refused(let error)) where error.code == RPCError.methodNotFoundCode:
            return .failed("This daemon cannot trace events: it is older than the console.")
        case .failure(let error): return .failed("\(error)")
        }
    }

    /// Calls several methods at once. The answer of a failed call is nil.
    private func gather(_ questions: [(String, DataObject)], _ then: @escaping ([DataObject?]) -> Void) {
        var answers: [DataObject?] = Array(repeating: nil, count: questions.count)
        var missing = questions.count
        for (index, (method, params)) in questions.enumerated() {
            daemon.ask(method, params) { result in
                answers[index] = try? result.get()
                missing -= 1
                if missing == 0 { then(answers) }
            }
        }
    }

    private func back(_ id: String) -> HTML {
        "<p><a href=\"\(Route.Page.dispatcher(id).target)\">Back to \(id)</a></p>\n"
    }

    // MARK: Changes

    /// Makes the change of a form, and then shows the dispatcher's page.
    func perform(_ change: Route.Change, _ request: HTTPRequest, _ then: @escaping Completion) {
        let order: ChangeOrder
        do throws(ChangeOrder.Fault) {
            order = try ChangeOrder(change, request)
        } catch {
            return then(RefusalPage.response(error.status, error.words))
        }
        daemon.ask(order.method, order.params) { [self] result in
            switch result {
            case .success(let answer):
                let count: Int? = answer.get(key: "count") ?? answer.get(key: "purged") ?? answer.get(key: "events")
                let query = "?done=\(URLText.encoded(change.act.rawValue))" + (count.map { "&count=\($0)" } ?? "")
                // The next page must show the change.
                daemon.whenRefreshed { then(.seeOther(Route.Page.dispatcher(change.dispatcher).target + query)) }
            case .failure(let error): fail(error, then)
            }
        }
    }

    /// Returns the message about the change that led to this page, or nil if none did.
    private static func note(_ request: HTTPRequest) -> String? {
        let query = request.query
        return query?["done"].flatMap(Route.Change.Act.init(rawValue:))?.done(
            count: query?["count"].flatMap(Int.init) ?? 0)
    }

    // MARK: Failures

    private func refuseDispatcher(_ id: String, _ then: Completion) {
        guard daemon.state.presence == .serving else {
            return then(RefusalPage.response(503, "The daemon cannot be reached."))
        }
        then(RefusalPage.response(404, "There is no dispatcher \(id)."))
    }

    private func fail(_ error: any Error, _ then: Completion) {
        guard case ClientError.refused(let refusal) = error else {
            return then(RefusalPage.response(503, "The daemon cannot be reached: \(error)"))
        }
        then(RefusalPage.response(refusal.reason == .notFound ? 404 : 409, refusal.message))
    }
}
