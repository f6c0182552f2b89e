import Foundation
import HeadgateEncryption
import HeadgateWire
import Testing

@testable import HeadgateCommands

/// Tests the file that stores a position, and its owner.
@Suite struct FollowStateTests {
    private final class Stage {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        var path: String { folder + "/place" }

        init() throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        }

        deinit {
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    private let position = FollowerPosition(.init(device: 1, inode: 2), prefix: "p")

    @Test("A state has one user at a time, also after it was replaced, and is empty at first")
    func shared() throws {
        let stage = try Stage()
        var first: FollowState<FollowerPosition>? = FollowState(path: stage.path)
        #expect(try first?.load() == nil)
        for _ in 0..<3 {
            #expect(throws: FollowFault.self) { try FollowState<FollowerPosition>(path: stage.path).load() }
            try first?.save(position)
            #expect(try first?.load() == position)
        }
        first = nil
        #expect(try FollowState<FollowerPosition>(path: stage.path).load() == position)
    }

    @Test("X8: a state, and the new file that replaces it, are never written through a symbolic link")
    func link() throws {
        let stage = try Stage()
        let target = stage.folder + "/target"
        try Data("mine".utf8).write(to: URL(filePath: target))
        symlink(target, stage.path)
        #expect(throws: FollowFault.self) { try FollowState<FollowerPosition>(path: stage.path).load() }
        unlink(stage.path)
        let state = FollowState<FollowerPosition>(path: stage.path)
        _ = try state.load()
        symlink(target, stage.path + ".new")
        try state.save(position)
        #expect(try state.load() == position)
        #expect(FileManager.default.contents(atPath: target) == Data("mine".utf8))
    }

    @Test("A state file without a position is reported, and stays")
    func foreign() throws {
        let stage = try Stage()
        try Data("something".utf8).write(to: URL(filePath: stage.path))
        #expect(throws: FollowFault.self) { try FollowState<FollowerPosition>(path: stage.path).load() }
        #expect(FileManager.default.contents(atPath: stage.path) == Data("something".utf8))
    }

    @Test("C4: an encrypted position is read with its key and its name alone, and is outdated under an older key")
    func encrypted() throws {
        func keyring(_ numbers: Int..., encrypts: Bool = true) throws -> Keyring {
            let lines = numbers.map { "\($0) " + String(repeating: "0\($0)", count: 32) + "\n" }
            return Keyring(try EncryptionKeys(lines.joined()), encrypts: encrypts)
        }
        let stage = try Stage()
        func state(_ keyring: Keyring?) -> FollowState<FollowerPosition> {
            FollowState(path: stage.path, keyring: keyring)
        }
        try state(nil).save(position)
        for (keyring, isOutdated) in [
            (try keyring(1), true), (try keyring(1), false), (try keyring(2, 1), true), (try keyring(2), false),
            (try keyring(2, encrypts: false), true), (nil, false),
        ] {
            let state = state(keyring)
            #expect(try state.load() == position && state.isOutdated == isOutdated)
            try state.save(position)
            #expect(!state.isOutdated)
        }
        try state(try keyring(1)).save(position)
        for keyring in [nil, try keyring(2)] { #expect(throws: FollowFault.self) { try state(keyring).load() } }
        try FileManager.default.moveItem(atPath: stage.path, toPath: stage.folder + "/other")
        let moved = FollowState<FollowerPosition>(path: stage.folder + "/other", keyring: try keyring(1))
        #expect(throws: FollowFault.self) { try moved.load() }
    }
}

/// Tests which faults may pass, and which messages are printed.
@Suite struct FollowFaultTests {
    @Test("A shortage of space or memory is temporary; other faults may last")
    func passing() {
        for code in [ENOSPC, EDQUOT, ENOMEM, EMFILE, ENFILE] { #expect(FollowFault("write", "x", code).isPassing) }
        for code in [EIO, EROFS, EACCES, ENOTDIR] { #expect(!FollowFault("write", "x", code).isPassing) }
        #expect(!FollowFault("write", "x", ENOSPC, passing: []).isPassing)
        #expect(!FollowFault("it is in use").isPassing)
    }

    @Test("Each reason of a refusal decides about its line; a line is skipped only for a fault of its own")
    func fates() {
        let again: [ErrorReason] = [.queueFull, .storage, .shuttingDown, .limit]
        let skipped: [ErrorReason] = [.eventTooLarge, .lineTooLong]
        for reason in ErrorReason.allCases {
            let fate = RPCError(reason).lineDecision
            #expect((fate == .goesAgain) == again.contains(reason))
            #expect((fate == .isSkipped) == skipped.contains(reason))
        }
        #expect(RPCError.invalidParams(path: "event", "is empty").lineDecision == .isSkipped)
        #expect(RPCError.internalError().lineDecision == .endsFollowing)
        // A limit on the line's own nesting does not pass.
        #expect(RPCError(.limit, data: ["max_depth": 64]).lineDecision == .isSkipped)
    }

    @Test("A lasting fault is reported once in ten minutes, each fault by itself")
    func throttle() {
        var throttle = MessageThrottle()
        let start = ContinuousClock.now
        let reported = [("full", 0), ("full", 599), ("other", 599), ("full", 600), ("other", 1_198), ("full", 1_199)]
        let isNews = reported.map { text, seconds in throttle.isNews(text, at: start + .seconds(seconds)) }
        #expect(isNews == [true, false, true, true, false, false])
    }
}
