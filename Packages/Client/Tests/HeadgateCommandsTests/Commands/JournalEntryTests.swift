import HeadgateData
import Testing

@testable import HeadgateCommands

/// Tests how an entry of systemd's journal becomes an event.
@Suite struct JournalEntryTests {
    @Test("An entry's fields have the documented names, and its cursor is the id")
    func fields() {
        let entry = JournalEntry([
            "__CURSOR": "s=1;i=2", "__REALTIME_TIMESTAMP": "1772359200123456", "__MONOTONIC_TIMESTAMP": "5",
            "MESSAGE": "started", "PRIORITY": "4", "SYSLOG_IDENTIFIER": "nginx", "_SYSTEMD_UNIT": "nginx.service",
            "_PID": "12", "_UID": "33", "_COMM": "nginx", "_HOSTNAME": "till", "_BOOT_ID": "b", "_EXE": "/x",
            "CODE_FILE": "main.c", "MESSAGE_ID": "m",
        ])
        #expect(entry.cursor == "s=1;i=2" && entry.time?.text == "2026-03-01T10:00:00.123Z")
        #expect(
            entry.data == [
                "message": "started", "level": "WARNING", "identifier": "nginx", "unit": "nginx.service", "pid": 12,
                "uid": 33, "command": "nginx", "host": "till", "boot": "b", "code_file": "main.c", "message_id": "m",
            ])
    }

    @Test("A text that is not UTF-8 comes as bytes and becomes text; several values of a field stay several")
    func oddValues() {
        let entry = JournalEntry([
            "MESSAGE": [104, 105, 255], "PRIORITY": "9", "_PID": "x", "TWICE": ["a", "b"], "NONE": nil,
        ])
        #expect(
            entry.data == [
                "message": "hi\u{FFFD}", "level": "9", "pid": "x", "twice": ["a", "b"], "none": nil,
            ])
        #expect(entry.cursor == nil && entry.time == nil)
    }

    @Test("The position moves behind the settled entries, and not before the first")
    func cursors() {
        var cursors = JournalCursors()
        #expect(cursors.settle(through: 5) == nil)
        for line in [1, 2, 4] { cursors.note("c\(line)", of: line) }
        #expect(cursors.settle(through: 0) == nil)
        #expect(cursors.settle(through: 3) == .entry(cursor: "c2"))
        #expect(cursors.settle(through: 3) == nil)
        #expect(cursors.settle(through: 4) == .entry(cursor: "c4"))
    }

    @Test("Entries of Headgate's own programs are skipped, and entries that only name them are tracked")
    func own() {
        let journal = LineFormat(syntax: .journal)
        #expect(journal.isOwn(Array(#"{"MESSAGE":"x","_COMM":"headgated","_PID":"1"}"#.utf8)))
        #expect(journal.isOwn(Array(#"{"_COMM":"headgate"}"#.utf8)))
        #expect(!journal.isOwn(Array(#"{"MESSAGE":"\"_COMM\":\"headgate\"","_COMM":"bash"}"#.utf8)))
        #expect(!LineFormat().isOwn(Array(#"{"_COMM":"headgate"}"#.utf8)))
    }

    @Test("A stored position is read again, and nothing else is taken for one")
    func stored() {
        for position in [JournalPosition.entry(cursor: "s=1;i=2"), .time(Timestamp(milliseconds: 1_700_000_000_007))] {
            #expect(JournalPosition(position.kept) == position)
        }
        #expect(JournalPosition(["version": 2, "cursor": "c"]) == nil)
        #expect(JournalPosition(["version": 1, "since": "now"]) == nil)
        #expect(JournalPosition(FollowerPosition(.init(device: 1, inode: 2), prefix: "p").kept) == nil)
    }

    @Test(
        "journalctl begins at the last settled entry, which is known by its cursor, or at the time of the first start")
    func starts() {
        let entry = JournalPosition.entry(cursor: "s=1;i=2")
        #expect(entry.option == "--cursor=s=1;i=2")
        #expect(entry.isEntry(Array(#"{"MESSAGE":"x","__CURSOR":"s=1;i=2"}"#.utf8)))
        #expect(!entry.isEntry(Array(#"{"MESSAGE":"x","__CURSOR":"s=1;i=21"}"#.utf8)))
        let time = JournalPosition.time(Timestamp(milliseconds: 1_700_000_000_007))
        #expect(time.option == "--since=@1700000000007ms")
        #expect(!time.isEntry(Array(#"{"__CURSOR":"s=1;i=2"}"#.utf8)))
    }
}
