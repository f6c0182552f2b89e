import Foundation
import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests the sender of `file` dispatchers on a real event loop.
@Suite("file dispatcher", .timeLimit(.minutes(5)))
struct FileSenderTests {
    @Test("K2: each event is a line, in the order of the batches")
    func order() async throws {
        let folder = try ScratchFolder()
        try await SenderStage.file(FileSettings(path: folder("events.ndjson"))) { stage in
            let batches = (0..<100).map { ["{\"n\":\($0)}", "{\"m\":\($0)}"] }
            #expect(await stage.sendTogether(batches) == Array(repeating: .delivered, count: 100))
        }
        let lines = (0..<100).map { "{\"n\":\($0)}\n{\"m\":\($0)}\n" }
        #expect(folder.text(of: "events.ndjson") == lines.joined())
    }

    @Test("S3, K2: a sender that replaces another one appends to its file, and neither finds the file locked")
    func reloads() async throws {
        let folder = try ScratchFolder()
        let settings = FileSettings(path: folder("events.ndjson"))
        try await SenderStage.file(FileSettings(path: folder("other"))) { stage in
            let batches = (0..<60).map { ["{\"n\":\($0)}"] }
            let results = try await stage.sendOverReloads(settings, batches)
            #expect(results == Array(repeating: .delivered, count: 60))
        }
        #expect(folder.text(of: "events.ndjson") == (0..<60).map { "{\"n\":\($0)}\n" }.joined())
    }

    @Test("S3: a new sender of a path gets the thread that has yet to close the previous sender's file")
    func comesBack() throws {
        let folder = try ScratchFolder()
        let (threads, path) = (FileThreads(), folder("events.ndjson"))
        let (isBusy, mayProceed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        var first: FileThread? = try threads.thread(for: path)
        let loop = try #require(first).loop
        loop.submit {
            isBusy.signal()
            mayProceed.wait()
        }
        isBusy.wait()
        first?.close(EventFile(FileSettings(path: path)) { 0 })
        first = nil
        #expect(try threads.thread(for: path).loop === loop)
        mayProceed.signal()
    }

    @Test("S3: reloads during traffic cause no failed attempt of a file dispatcher")
    func reloadsUnderLoad() async throws {
        try await ServiceStage.run { stage in
            let (client, other) = (try await stage.client(), try await stage.client())
            for number in 1...60 {
                for _ in 1...5 { _ = await other.request("track", ["event": "x", "dispatchers": ["archive"]]) }
                let patch: DataObject = ["dispatchers": ["archive": ["keep": .number(DataNumber(number))]]]
                try await client.call("config.set", ["patch": .object(patch)])
            }
            while try await client.listedDispatcher("archive")["sent"] != 300 { try Task.checkCancellation() }
            #expect(try await client.listedDispatcher("archive")["failed"] == 0)
        }
    }

    @Test("Q9: only the file's owner may read and write it")
    func mode() async throws {
        let folder = try ScratchFolder()
        try await SenderStage.file(FileSettings(path: folder("new/events.ndjson"))) { stage in
            #expect(await stage.send("{}") == .delivered)
        }
        let file = try FileManager.default.attributesOfItem(atPath: folder("new/events.ndjson"))
        #expect(file[.posixPermissions] as? Int == 0o600)
        let parent = try FileManager.default.attributesOfItem(atPath: folder("new"))
        #expect((parent[.posixPermissions] as? Int).map { $0 & ~0o750 } == 0)
    }

    @Test("D9: a failed write reports its cause, and the sender delivers again once the cause is fixed")
    func missingDirectory() async throws {
        let folder = try ScratchFolder()
        try await SenderStage.file(FileSettings(path: folder("a/b/events.ndjson"))) { stage in
            #expect(await stage.send("{}") == .noAnswer(cause: "no such directory"))
            try FileManager.default.createDirectory(atPath: folder("a"), withIntermediateDirectories: false)
            #expect(await stage.send("{}") == .delivered)
        }
    }

    @Test("D11: interrupting ends all batches in flight, each once")
    func interrupt() async throws {
        let folder = try ScratchFolder()
        // A pipe that is never read: the first batch fills it, so that all batches stay in flight.
        #expect(mkfifo(folder("pipe"), 0o600) == 0)
        let reader = open(folder("pipe"), O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let full = String(repeating: "x", count: 1 << 20)
        try await SenderStage.file(FileSettings(path: folder("pipe"))) { stage in
            async let results = stage.sendTogether([[full], ["{}"], ["{}"]])
            await PipeReader.waitForFirstByte(of: reader)
            await stage.interrupt()
            let all = await results
            #expect(all == [.interrupted, .interrupted, .interrupted])
        }
    }

    @Test("K2: a file that another process has locked is not written")
    func locked() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write("", to: "events.ndjson")
        let other = open(path, O_RDWR)
        defer { close(other) }
        #expect(flock(other, LOCK_EX) == 0)
        try await SenderStage.file(FileSettings(path: path)) { stage in
            #expect(await stage.send("{}") == .noAnswer(cause: "in use by another process"))
            #expect(flock(other, LOCK_UN) == 0)
            #expect(await stage.send("{}") == .delivered)
        }
    }

    @Test("K2: closing a sender releases its file's lock, even if a program between fork and exec has the file open")
    func freeAtOnce() async throws {
        let folder = try ScratchFolder()
        let path = folder("events.ndjson")
        var child: StartingProgram?
        try await SenderStage.file(FileSettings(path: path)) { stage in
            #expect(await stage.send("{}") == .delivered)
            child = StartingProgram(has: path)
        }
        #expect(child?.descriptors.isEmpty == false)
        try await SenderStage.file(FileSettings(path: path)) { stage in
            #expect(await stage.send("{}") == .delivered)
        }
        withExtendedLifetime(child) {}
    }
}
