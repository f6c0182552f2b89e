import HeadgateCoreTesting
import HeadgateSeeds
import Testing

@testable import HeadgateStore

@Suite("The valid part of a segment")
struct LogScanTests {
    /// Returns the bytes of consecutive frames with these contents.
    private func segment(
        _ contents: [String], certain: [Int] = [], number: UInt64 = 7
    ) -> [UInt8] {
        var writer = LogWriter()
        var previous: UInt64 = 1
        for (index, content) in contents.enumerated() {
            let position = LogPosition(segment: number, offset: LogHeader.size + writer.bytes.count)
            let sure = index < certain.count ? certain[index] : 0
            previous = writer.frame(.changes, at: position, certain: sure, previous: previous) {
                $0.put(content)
            }
        }
        return writer.bytes
    }

    private func report(_ bytes: [UInt8], number: UInt64 = 7) -> (report: SegmentReport, contents: [String]) {
        bytes.withUnsafeBytes { bytes in
            let scan = LogScan(bytes, from: LogPosition(segment: number, offset: LogHeader.size), behind: 1)
            let report = SegmentReport(scan, from: LogHeader.size)
            let contents = report.frames.map { frame, offset in
                var reader = LogReader(scan.content(of: frame, at: offset))
                return (try? reader.take(String.self)) ?? "?"
            }
            return (report, contents)
        }
    }

    /// Returns the offset of each frame with these contents, and of the end.
    private func offsets(_ contents: [String]) -> [Int] {
        contents.reduce(into: [LogHeader.size]) { $0.append($0[$0.count - 1] + LogFrame.size(of: 4 + $1.utf8.count)) }
    }

    @Test("Q8: all consecutive frames count, and zeros end them")
    func whole() {
        let (report, contents) = report(segment(["one", "two", "three"]) + [UInt8](repeating: 0, count: 200))
        #expect(contents == ["one", "two", "three"])
        #expect(report.end == offsets(["one", "two", "three"])[3] && report.damaged.isEmpty)
    }

    @Test("Q5: unsynced frames end at the first hole, wherever in a frame it is", arguments: 0..<56)
    func lost(_ position: Int) {
        var bytes = segment(["one", "two", "three"])
        let start = offsets(["one"])[1] - LogHeader.size
        bytes[start + position] ^= 0x10
        let (report, contents) = report(bytes)
        // Later positions are in the padding after the frame.
        let isChanged = position < LogFrame.headerSize + 4 + "two".utf8.count
        #expect(contents == (isChanged ? ["one"] : ["one", "two", "three"]))
        #expect(report.damaged.isEmpty)
    }

    @Test("Q8: a hole in synced frames is damage, and the frames after it count", arguments: 0..<55)
    func damaged(_ position: Int) {
        let positions = offsets(["one", "two"])
        var bytes = segment(["one", "two", "three"], certain: [0, 0, positions[2]])
        bytes[positions[1] - LogHeader.size + position] ^= 0x10
        let (report, contents) = report(bytes)
        #expect(contents == ["one", "three"])
        #expect(report.damaged == [positions[1]..<positions[2]])
    }

    @Test("Q5: bytes of an earlier use of the file, or of a failed attempt, are not frames")
    func stale() {
        let old = segment(["a", "b", "c"], number: 6)
        let new = segment(["one"])
        #expect(report(new + old[new.count...]).contents == ["one"])
        // The frame has the right segment and offset, but follows another frame than the one before it now.
        let failed = segment(["ene", "two"])
        #expect(report(new + failed[new.count...]).contents == ["one"])
    }

    @Test("Q11, Q8: frames are read, and a changed one is invalid")
    func changed() {
        let bytes = segment(["one", "two"])
        #expect(report(bytes).contents == ["one", "two"])
        // The positions in the second frame: its first byte, and a byte of its content.
        for position in [0, LogFrame.headerSize + 5] {
            var changed = bytes
            changed[LogFrame.size(of: 7) + position] ^= 1
            #expect(report(changed).contents == ["one"], "\(position)")
        }
    }

    @Test("Q8: frames are found after any other bytes", arguments: 1...40 as ClosedRange<UInt64>)
    func found(seed: UInt64) {
        var random = SeededRandom(seed: Seed(seed))
        // The garbage contains many beginnings of frames.
        let alphabet: [UInt8] = [0, 0, 0, 0x48, 0x66] + segment(["x"]).prefix(4)
        var (bytes, expected) = ([UInt8](), [Int]())
        for _ in 0..<20 {
            bytes += (0..<8 * Int.random(in: 0...9, using: &random)).map { _ in
                alphabet.randomElement(using: &random)!
            }
            guard Bool.random(using: &random) else { continue }
            let position = LogPosition(segment: 7, offset: LogHeader.size + bytes.count)
            var writer = LogWriter()
            _ = writer.frame(.changes, at: position, certain: 0, previous: 1) { $0.put("content") }
            expected.append(position.offset)
            bytes += writer.bytes
        }
        let found = bytes.withUnsafeBytes { bytes in
            var scan = LogScan(bytes, from: LogPosition(segment: 7, offset: LogHeader.size), behind: nil)
            var (found, end) = ([Int](), LogHeader.size)
            while let next = scan.next() {
                switch next {
                case .hole(let range):
                    #expect(range.lowerBound == end, "seed \(seed)")
                    end = range.upperBound
                case .frame(let frame, let offset):
                    #expect(offset == end, "seed \(seed)")
                    end = offset + frame.size
                    found.append(offset)
                }
            }
            #expect(end == LogHeader.size + bytes.count, "seed \(seed)")
            return found
        }
        // A frame right after another one may be missed, because the two do not belong together.
        let behindAnother = Set(
            zip(expected, expected.dropFirst()).filter { $0 + LogFrame.size(of: 11) == $1 }.map(\.1))
        #expect(found.allSatisfy(expected.contains), "seed \(seed)")
        #expect(Set(expected).subtracting(found).isSubset(of: behindAnother), "seed \(seed)")
    }

    @Test("Q11: a header names its kind, and one of another version is distinguished from a missing one")
    func header() {
        let header = LogHeader(use: .active, number: 3, previous: 2, previousEnd: 640)
        var bytes = header.bytes
        #expect(bytes.count == LogHeader.size)
        #expect(bytes.withUnsafeBytes(LogHeader.read) == .header(header))
        for position in 12..<LogHeader.size where !(40..<56).contains(position) {
            var changed = bytes
            changed[position] ^= 1
            #expect(changed.withUnsafeBytes(LogHeader.read) == .none, "\(position)")
        }
        for version in [1, 2, 3, 4, 6] as [UInt8] {
            bytes[8] = version
            #expect(bytes.withUnsafeBytes(LogHeader.read) == .foreign(UInt32(version)))
        }
        bytes[8] = 0
        #expect(bytes.withUnsafeBytes(LogHeader.read) == .none)
    }
}
