import HeadgateData
import Testing

@testable import HeadgateWire

@Suite("Writing messages")
struct MessageWritingTests {
    @Test("Answers")
    func answers() {
        #expect(write { writer in withID("7") { writer.answer(id: $0) } } == #"{"jsonrpc":"2.0","id":7,"result":{}}"#)
        let result: DataObject = ["id": "e1", "seq": 5]
        #expect(
            write { writer in withID(#""a\u0041""#) { writer.answer(id: $0, result: result) } }
                == #"{"jsonrpc":"2.0","id":"a\u0041","result":{"id":"e1","seq":5}}"#)
        let built = write { writer in
            withID("null") { id in
                writer.answer(id: id) { result in
                    result.beginObject()
                    result.member("id", "x\"")
                    result.member("seq", UInt64.max)
                    result.endObject()
                }
            }
        }
        #expect(built == #"{"jsonrpc":"2.0","id":null,"result":{"id":"x\"","seq":18446744073709551615}}"#)
    }

    @Test("Requests and notifications")
    func calls() {
        #expect(
            write { $0.request(id: 3, method: "dispatch") { $0.object(["batch": 1]) } }
                == #"{"jsonrpc":"2.0","id":3,"method":"dispatch","params":{"batch":1}}"#)
        #expect(
            write { $0.request(id: -1, method: "a\"b", params: nil) } == #"{"jsonrpc":"2.0","id":-1,"method":"a\"b"}"#)
        #expect(
            write { $0.request(id: 4, method: "ping", params: [:]) }
                == #"{"jsonrpc":"2.0","id":4,"method":"ping","params":{}}"#)
        #expect(
            write { $0.notification(method: "closing") { $0.object(["reason": "limit"]) } }
                == #"{"jsonrpc":"2.0","method":"closing","params":{"reason":"limit"}}"#)
        #expect(write { $0.notification(method: "ping", params: nil) } == #"{"jsonrpc":"2.0","method":"ping"}"#)
        #expect(write { $0.endLine() } == "\n")
    }

    @Test("A batch of answers is an array of them, on one line")
    func batch() {
        let line = write { writer in
            writer.beginArray()
            for id in ["1", "2"] {
                writer.element()
                withID(id) { writer.answer(id: $0) }
            }
            writer.endArray()
            writer.endLine()
        }
        #expect(line == #"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"# + "\n")
    }

    @Test("Protocol, Errors: the codes of JSON-RPC")
    func standardErrors() {
        #expect(error(.parseError()) == #"{"code":-32700,"message":"not JSON"}"#)
        #expect(error(.invalidRequest("an empty batch")) == #"{"code":-32600,"message":"an empty batch"}"#)
        #expect(error(.methodNotFound("tr\"ack")) == #"{"code":-32601,"message":"no method tr\"ack"}"#)
        #expect(
            error(.invalidParams(path: "events[1].event", "is missing"))
                == #"{"code":-32602,"message":"events[1].event: is missing","data":{"path":"events[1].event"}}"#)
        #expect(
            error(.invalidParams(path: "", "must be an object"))
                == #"{"code":-32602,"message":"params: must be an object","data":{"path":""}}"#)
        #expect(error(.internalError()) == #"{"code":-32603,"message":"internal error"}"#)
        #expect(error(RPCError(JSONFault.notUTF8)) == #"{"code":-32700,"message":"not UTF-8"}"#)
    }

    static let reasons = [
        "queue_full", "event_too_large", "line_too_long", "storage", "unauthorized", "not_found", "conflict",
        "cancelled",
        "provider_lost", "timeout", "activation_cycle", "limit", "shutting_down", "invalid_settings",
    ]

    @Test("Protocol, Errors: the list of reasons is complete")
    func allReasons() {
        #expect(ErrorReason.allCases.map(\.rawValue) == Self.reasons)
    }

    @Test("Protocol, Errors: the message of every reason", arguments: ErrorReason.allCases)
    func reasons(reason: ErrorReason) throws {
        let text = write { $0.errorAnswer(id: nil, error: RPCError(reason)) }
        let message = reason.defaultMessage
        #expect(
            text
                == #"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"\#(message)","data":{"reason":"\#(reason.rawValue)"}}}"#
        )
        let error = try GuardedText(text).scan { RPCError(try #require($0.member("error"))) }
        #expect(error == RPCError(reason))
        #expect(error.reason == reason)
    }

    @Test("Protocol, Errors: the additional data of some reasons")
    func reasonsWithMore() {
        #expect(
            error(.invalidSettings(faults: [("dispatchers.a.endpoint", "bad URL"), ("store", "unknown")]))
                == #"{"code":-32000,"message":"invalid settings: dispatchers.a.endpoint: bad URL","data":{"reason":"invalid_settings","#
                + #""faults":[{"path":"dispatchers.a.endpoint","message":"bad URL"},{"path":"store","message":"unknown"}]}}"#
        )
        #expect(
            error(.cancelled(barrier: "auth", cause: "refused"))
                == #"{"code":-32000,"message":"cancelled by auth: refused","data":{"reason":"cancelled","barrier":"auth","cause":"refused"}}"#
        )
        #expect(
            error(RPCError(.limit, "line 3", data: ["reason": "other", "max": 5]))
                == #"{"code":-32000,"message":"line 3","data":{"reason":"limit","max":5}}"#)
    }

    private func write(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return writer.text
    }

    private func error(_ error: RPCError) -> String {
        write { $0.error(error) }
    }

    private func withID(_ id: String, _ body: (UnsafeRawBufferPointer) -> Void) {
        Array(id.utf8).withUnsafeBytes(body)
    }
}
