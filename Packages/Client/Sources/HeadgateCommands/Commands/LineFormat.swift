import HeadgateClient
import HeadgateData
import HeadgateWire

/// The format of the lines that `headgate send` reads. It makes an event of a line. A pure value.
struct LineFormat: Sendable {
    enum Syntax: Sendable {
        /// Each line is an event, as a JSON object.
        case json
        /// Each line has pairs like `level=info msg="signed up"`.
        case logfmt
        /// Each line is any text.
        case text
        /// Each line is an entry of systemd's journal, as `journalctl --output=json` writes it.
        case journal
    }

    var syntax = Syntax.json
    /// The name of the events, for lines that do not name one.
    var event = "log"

    /// The reason why a line is no event.
    enum Fault: Error, Equatable {
        case event(EventText.Fault)
        case logfmt(LogfmtLine.Fault)

        /// The fault, as a text for people.
        var text: String {
            switch self {
            case .event(let fault): fault.text
            case .logfmt(let fault): fault.text
            }
        }
    }

    /// Returns the event of a line.
    /// - Parameters:
    ///   - line: the line, without its end.
    ///   - id: the event's id if the line has none; nil has the client generate one.
    func read(_ line: [UInt8], id: String? = nil, scanner: JSONScanner) throws(Fault) -> EventText {
        let (json, ownID) = try json(of: line)
        do throws(EventText.Fault) {
            guard let id = id ?? ownID else { return try EventText(json, scanner: scanner) }
            return try EventText(json, id: id, scanner: scanner)
        } catch {
            throw .event(error)
        }
    }

    /// Returns true if a line can be an event of this format (Behaviour L5).
    func canRead(_ line: [UInt8], scanner: JSONScanner) -> Bool {
        (try? read(line, scanner: scanner))?.hasName ?? false
    }

    /// Returns true if a line of the journal is of one of Headgate's own programs. It is left out, because an entry about a
    /// failure could cause the next failure.
    func isOwn(_ line: [UInt8]) -> Bool {
        syntax == .journal && line.firstRange(of: LineFormat.ownMark) != nil
    }

    private static let ownMark = Array(#""_COMM":"headgate"#.utf8)

    /// One line of the format, for a message about a file in another format.
    var example: String {
        switch syntax {
        case .json: #"a JSON object such as {"event": "signup", "data": {"plan": "pro"}}"#
        case .logfmt: #"pairs such as level=info msg="signed up" plan=pro"#
        case .text: "any text"
        case .journal: #"an entry such as {"__CURSOR": "…", "MESSAGE": "started"}"#
        }
    }

    /// Returns the event as JSON, and the id that the line has outside of the event.
    private func json(of line: [UInt8]) throws(Fault) -> (text: [UInt8], id: String?) {
        switch syntax {
        case .json: return (line, nil)
        case .text: return (record(["message": .string(LineFormat.text(of: line))]), nil)
        case .journal:
            // The parser of events refuses a line that is not an object, and reports why.
            guard case .object(let fields)? = try? DataItem(parsing: line) else { return (line, nil) }
            let entry = JournalEntry(fields)
            return (record(entry.data, time: entry.time), entry.cursor)
        case .logfmt:
            do throws(LogfmtLine.Fault) {
                let pairs = try LogfmtLine(line)
                return (record(pairs.data, time: pairs.time), nil)
            } catch {
                throw .logfmt(error)
            }
        }
    }

    private func record(_ data: DataObject, time: Timestamp? = nil) -> [UInt8] {
        var event: DataObject = ["event": .string(event), "data": .object(data)]
        if let time { event["time"] = .string(time.text) }
        return Array(DataItem.object(event).json.utf8)
    }

    /// Returns a line as text, without the carriage return of a foreign line end. Bytes that are not UTF-8 become U+FFFD.
    private static func text(of line: [UInt8]) -> String {
        String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...], as: UTF8.self)
    }
}
