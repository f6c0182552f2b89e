import HeadgateData
import Testing

@testable import HeadgateConsole

/// Tests the daemon's calls for forms.
@Suite("Changes")
struct ChangeOrderTests {
    private func order(
        _ act: Route.Change.Act, _ body: String = "", type: String = "application/x-www-form-urlencoded"
    ) throws -> ChangeOrder {
        let headers = [HTTPRequest.Header(name: "content-type", value: type)]
        let request = HTTPRequest(method: "POST", target: "/", headers: headers, body: Array(body.utf8))
        return try ChangeOrder(Route.Change(dispatcher: "my web", act: act), request)
    }

    private func status(_ act: Route.Change.Act, _ body: String, type: String? = nil) -> Int? {
        do {
            _ = try type.map { try order(act, body, type: $0) } ?? order(act, body)
            return nil
        } catch let fault as ChangeOrder.Fault {
            return fault.status
        } catch {
            return 0
        }
    }

    @Test("Each form calls its method, for its dispatcher alone")
    func methods() throws {
        #expect(try order(.pause, "reason=").params == ["id": "my web"])
        let pause = try order(.pause, "reason=the+disk&flushable=yes")
        #expect(pause.params == ["id": "my web", "reason": "the disk", "flushable": true])
        #expect(try order(.resume).params == ["id": "my web"])
        #expect(try order(.retry).params == ["id": "my web"] && order(.retry).method == "dispatcher.retry")
        #expect(try order(.flush).params == ["dispatchers": ["my web"]])
        #expect(try order(.requeue).params == ["dispatcher": "my web"])
        #expect(try order(.purge, "confirm=my+web").params == ["dispatcher": "my web"])
        #expect(try order(.purgeDeadLetters, "confirm=my%20web").method == "dead_letters.purge")
        #expect(try order(.rewind, "to=17").params == ["id": "my web", "to": 17])
        #expect(try order(.rewind, "to=-2h").params == ["id": "my web", "to": "-2h"])
        #expect(status(.rewind, "to=") == 400)
    }

    @Test(
        "A destructive change requires the dispatcher's id",
        arguments: ["", "confirm=", "confirm=my", "confirm=my+Web", "confirm=my+web+", "other=my+web"])
    func confirmation(body: String) {
        #expect(status(.purge, body) == 400 && status(.purgeDeadLetters, body) == 400)
    }

    @Test("A malformed form is refused", arguments: ["application/json", "text/plain", "multipart/form-data"])
    func types(type: String) {
        #expect(status(.pause, "reason=a", type: type) == 415)
        #expect(status(.pause, "reason=%zz") == 415)
    }

    @Test("The result names the change, with the number of events")
    func done() {
        #expect(Route.Change.Act.requeue.done(count: 1) == "1 event requeued.")
        #expect(Route.Change.Act.purge.done(count: 1_200) == "1 200 events purged.")
        #expect(Route.Change.Act.rewind.done(count: 2) == "2 events pending again.")
    }
}
