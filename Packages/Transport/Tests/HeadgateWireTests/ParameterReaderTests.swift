import HeadgateData
import Testing

@testable import HeadgateWire

@Suite("Reading params")
struct ParameterReaderTests {
    enum Way: String, CaseIterable, ParameterValue {
        case open, closed
    }

    static let params = #"""
        {"id":"d1","count":3,"ratio":0.5,"on":true,"nothing":null,"way":"closed","at":"2026-01-02T03:04:05Z","more":{"a":[1]},
         "names":["a","b"],"mixed":["a",1],"events":[{"event":"x"},{"event":5},7],"nested":{"deep":{"n":"no"}}}
        """#

    @Test("What is there and right is read")
    func reads() throws {
        try read { reader throws in
            #expect(try reader.required("id", as: String.self) == "d1")
            #expect(try reader.required("count") == 3)
            #expect(try reader.required("count", as: Int64.self) == 3)
            #expect(try reader.required("ratio") == 0.5)
            #expect(try reader.required("on") == true)
            #expect(try reader.required("way", as: Way.self) == .closed)
            #expect(try reader.required("at", as: Timestamp.self).text == "2026-01-02T03:04:05.000Z")
            #expect(try reader.required("more", as: DataObject.self) == ["a": [1]])
            #expect(try reader.required("nothing", as: DataItem.self) == .null)
            #expect(try reader.requiredArray("names") == ["a", "b"])
            #expect(try reader.optional("absent", as: String.self) == nil)
            #expect(try reader.optionalArray("absent", of: String.self) == nil)
            #expect(try reader.optionalObject("absent") == nil)
            #expect(try reader.optional("count", in: 1...3) == 3)
            #expect(reader.has("nothing") && !reader.has("absent"))
        }
    }

    @Test("Protocol, Framing: what is missing or wrong is told with its path")
    func tellsPaths() throws {
        try read { reader throws in
            #expect(fault { try reader.required("absent", as: String.self) } == "absent: is missing")
            #expect(fault { try reader.required("id", as: Int.self) } == "id: must be a whole number")
            #expect(fault { try reader.required("ratio", as: Int.self) } == "ratio: must be a whole number")
            #expect(fault { try reader.optional("nothing", as: String.self) } == "nothing: must be a string")
            #expect(fault { try reader.optional("id", as: Way.self) } == #"id: must be one of "open", "closed""#)
            #expect(fault { try reader.optional("id", as: Timestamp.self) } == "id: must be a time in RFC 3339")
            #expect(fault { try reader.optional("on", as: DataObject.self) } == "on: must be an object")
            #expect(fault { try reader.optional("id", as: Bool.self) } == "id: must be true or false")
            #expect(fault { try reader.optional("id", as: Double.self) } == "id: must be a number")
            #expect(fault { try reader.optional("count", in: 4...) } == "count: out of range")
            #expect(fault { try reader.requiredArray("mixed", of: String.self) } == "mixed[1]: must be a string")
            #expect(fault { try reader.requiredArray("id", of: String.self) } == "id: must be an array")
            #expect(fault { try reader.requiredObjects("events") } == "events[2]: must be an object")
            #expect(fault { try reader.optionalObject("id") } == "id: must be an object")
            let deep = try reader.requiredObject("nested").requiredObject("deep")
            #expect(fault { try deep.required("n", as: Int.self) } == "nested.deep.n: must be a whole number")
            #expect(deep.fault("n", "odd") == .invalidParams(path: "nested.deep.n", "odd"))
        }
    }

    @Test("Objects of an array tell their place")
    func tellsElements() throws {
        try read(#"{"events":[{"event":"x"},{"event":5}]}"#) { reader throws in
            let events = try reader.requiredObjects("events")
            #expect(try events[0].required("event") == "x")
            #expect(fault { try events[1].required("event", as: String.self) } == "events[1].event: must be a string")
        }
    }

    @Test("Without params, what is required is missing")
    func takesNone() {
        let reader = ParameterReader(nil)
        #expect(fault { try reader.required("id", as: String.self) } == "id: is missing")
        #expect(throws: Never.self) { try reader.optional("id", as: String.self) }
    }

    private func read(_ params: String = params, _ body: (ParameterReader) throws -> Void) throws {
        try GuardedText(params).scan { try body(ParameterReader($0)) }
    }

    /// What the peer would be told, held against its path; nil when nothing is thrown.
    private func fault(_ body: () throws -> Any?) -> String? {
        do {
            _ = try body()
            return nil
        } catch let error as RPCError {
            let path = error.data.get(key: "path", as: String.self) ?? "?"
            return error.message.hasPrefix(path + ": ") && error.code == -32602 ? error.message : nil
        } catch {
            return nil
        }
    }
}
