import HeadgateData

extension JSONWriter {
    /// Writes an answer. `result` writes its value.
    @inlinable
    public mutating func answer(id: UnsafeRawBufferPointer, result: (inout JSONWriter) -> Void) {
        raw(#"{"jsonrpc":"2.0","id":"#)
        raw(id)
        raw(#","result":"#)
        result(&self)
        raw("}")
    }

    /// Writes an answer with its line end into memory that is reserved once.
    /// - Parameters:
    ///   - id: the id of the request, as JSON.
    ///   - count: the most bytes of the value.
    ///   - result: writes the value.
    @inlinable @inline(__always)
    public mutating func answerLine(
        id: UnsafeRawBufferPointer, most count: Int, result: (inout ByteCursor) -> Void
    ) {
        bytes.append(most: id.count + count + 40) { cursor in
            cursor.put(#"{"jsonrpc":"2.0","id":"#)
            cursor.put(id)
            cursor.put(#","result":"#)
            result(&cursor)
            cursor.put("}\n")
        }
    }

    /// Writes an answer with an object as its value.
    public mutating func answer(id: UnsafeRawBufferPointer, result: DataObject = [:]) {
        answer(id: id) { $0.object(result) }
    }

    /// Writes an error as an answer; with null as the id if the request had no valid one.
    public mutating func errorAnswer(id: UnsafeRawBufferPointer?, error: RPCError) {
        raw(#"{"jsonrpc":"2.0","id":"#)
        if let id { raw(id) } else { null() }
        raw(#","error":"#)
        self.error(error)
        raw("}")
    }

    /// Writes an error as a value: code, message, and data if there is any.
    public mutating func error(_ error: RPCError) {
        beginObject()
        member("code", error.code)
        if let rawJSON = error.rawJSON {
            member("message")
            raw(rawJSON.message)
            if let data = rawJSON.data {
                member("data")
                raw(data)
            }
        } else {
            member("message", error.message)
            if !error.data.isEmpty { member("data", item: .object(error.data)) }
        }
        endObject()
    }

    /// Writes a request. `params` writes its params, an object.
    @inlinable
    public mutating func request(id: Int64, method: StaticString, params: (inout JSONWriter) -> Void) {
        raw(#"{"jsonrpc":"2.0","id":"#)
        integer(id)
        raw(#","method":""#)
        raw(method)
        raw(#"","params":"#)
        params(&self)
        raw("}")
    }

    /// Writes a request of any method; without params if they are nil.
    public mutating func request(id: Int64, method: String, params: DataObject?) {
        raw(#"{"jsonrpc":"2.0","id":"#)
        integer(id)
        call(method, params)
    }

    /// Writes a notification. `params` writes its params, an object.
    @inlinable
    public mutating func notification(method: StaticString, params: (inout JSONWriter) -> Void) {
        raw(#"{"jsonrpc":"2.0","method":""#)
        raw(method)
        raw(#"","params":"#)
        params(&self)
        raw("}")
    }

    /// Writes a notification of any method; without params if they are nil.
    public mutating func notification(method: String, params: DataObject?) {
        raw(#"{"jsonrpc":"2.0""#)
        call(method, params)
    }

    /// Writes a line end, after a message or a whole batch of answers.
    @inlinable
    public mutating func endLine() {
        raw(byte: 0x0A)
    }

    private mutating func call(_ method: String, _ params: DataObject?) {
        raw(#","method":"#)
        string(method)
        if let params {
            raw(#","params":"#)
            object(params)
        }
        raw("}")
    }
}
