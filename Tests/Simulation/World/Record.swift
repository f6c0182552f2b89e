import HeadgateSeeds

/// Rare situations that must occur in some history. A new one needs only a case here.
enum Situation: String, CaseIterable {
    case duplicate, cutLine, garbage, lineTooLong, batch, halfClosed, lostClient
    case tooManyConnections, slowReader, pausedReading, groupFull
    case diedAtTurnover, segmentBegun, segmentForgotten, segmentCopied, logRecovered, copyAmbushed
    case writtenAtOnce, syncedAhead, storeHeld, diskFilled, diedFull, diedBeforeDeadLetters, refusedByFullDisk
    case queueFull, ioError, syncFailed
    case syncSlow, answeredInSync, sentInSync, activatedInSync
    case killed, powerLost, diedInACall, startFailed, stoppedInOrder, endForgotten, unansweredKept
    case triedAgain, deadLettered, neverTaken, split, distinguished, timedOut, answerLost
    case purged, paused, networkLost, flushSettled, flushTimedOut, clockJumped
    case workerLost, workerLate, workTakenOver, workHalved, lastSpared, workerLeft, workRefused
    case boardRun, boardLate, boardTakenOver, notServed, providerLost, activationTimedOut, barrierChosen,
        activatedWithinRun
    case barrierRefused, barrierTimedOut, barrierLost
    case slept, expired, waitedOut, scaleBent, clockUpset, clockUnset, clockAhead
    case streamInParts, streamLate, streamCut
    case deadLettersListed, deadLettersKept, deadLettersPurged, requeued, requeueCut
    case dispatcherRemoved, dispatcherBack, barrierSet, settingsRefused
    case held, answeredTwice, peeked, rollCalled
    case barrierClosed, barrierOfAnother, barrierLeft, barrierKept, barrierListed, exceptionListed
    case programAcknowledged, programResent, programDuplicate, programRefused, programCancelled, programTimedOut
    case programDisconnected, programGone
    case persistentCallBegan, persistentCallEnded, persistentCallEndedEarly, persistentCallsChecked
    case watcherKnows, watcherSlow, watcherLost, watchEnded, watchRefused, removalReported
    case triedForLong, triedTooLong
    case orphanDropped, fileRead, fileRefused
    case anythingRotted, damagedPutAside
    case frameRotted, lastFrameRotted, frameLeftOut, misread, gapAmbushed, unpacked
    case writeAmbushed, forgettingAmbushed, settingsKept, settingsNotKept
    case keyUsed, keyRefused, keyRefusedAgain, boardPut, boardTaken
    case rulesChanged, ruledOut, changedBeforeStore, changedBeforeSending, droppedBeforeStore, droppedBeforeSending
    case rewound, rewindRefused, replayed, erased, erasureContinued, backedUp, backupEnded
    case keyAlone, keyRemoved, wrongKey
    case sharedRoomUsed, shareRefused

    /// Situations that must occur in histories of a store alone.
    static let ofStores: [Situation] = [
        .segmentBegun, .segmentForgotten, .segmentCopied, .logRecovered, .writtenAtOnce, .syncedAhead, .diskFilled,
        .ioError, .syncFailed, .killed, .powerLost, .startFailed, .stoppedInOrder, .unansweredKept, .unpacked,
        .deadLettersListed, .deadLettersPurged, .requeued, .frameRotted, .lastFrameRotted, .frameLeftOut,
    ]
}

/// A broken promise.
struct Violation: Error, CustomStringConvertible {
    let description: String
}

/// The record of one history: its random choices, its trace, the situations, and the first violation.
final class Record {
    private(set) var counts: [Situation: Int] = [:]
    private(set) var violation: Violation?
    /// A hash of the trace (FNV-1a).
    private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    private(set) var trace: [String] = []
    private let seed: Seed
    private var random: SeededRandom

    init(seed: Seed) {
        self.seed = seed
        random = SeededRandom(seed: seed)
    }

    /// Begins a step with its own random numbers, so that leaving out earlier steps does not change it.
    func beginStep(_ number: Int) {
        var mixed = SeededRandom(seed: seed)
        random = SeededRandom(seed: Seed(mixed.next() &+ UInt64(number) &* 0xD129_0A3B_9E6C_55F1))
    }

    func count(_ situation: Situation, _ times: Int = 1) {
        counts[situation, default: 0] += times
    }

    func note(_ line: String) {
        trace.append(line)
        for byte in line.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }

    /// True if the trace includes every call of the disk.
    var isDetailed = false

    func detail(_ line: @autoclosure () -> String) {
        if isDetailed { trace.append("    " + line()) }
    }

    /// True if only the promises that always hold can be checked.
    var isLax: () -> Bool = { false }

    func expect(_ isSo: Bool, _ problem: @autoclosure () -> String) {
        guard !isSo, !isLax() else { return }
        insist(false, problem())
    }

    /// Checks a promise that holds in every history.
    func insist(_ isSo: Bool, _ problem: @autoclosure () -> String) {
        guard !isSo, violation == nil else { return }
        violation = Violation(description: problem())
        note("VIOLATION \(problem())")
    }

    // MARK: Random choices

    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    func oneIn(_ times: Int) -> Bool { random.oneIn(times) }
    func fraction() -> Double { Double.random(in: 0...1, using: &random) }

    func characters(_ count: Int) -> String {
        String(decoding: (0..<count).map { _ in UInt8(number(97...122)) }, as: UTF8.self)
    }

    /// Returns a random element of a list that is not empty.
    func pick<Choice>(_ choices: [Choice]) -> Choice { choices[number(0...choices.count - 1)] }
}
