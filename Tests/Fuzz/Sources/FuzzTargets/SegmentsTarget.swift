import HeadgateCoreTesting
import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer
@testable import HeadgateStore

/// A start of the service with arbitrary frames in the log, with correct checksums. Frames are read or counted as
/// damaged, the log must then store an event, and a second start must find the same state.
enum SegmentsTarget {
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        var options = StoreOptions(directory: "/nowhere/headgate")
        (options.segmentSize, options.blockSize, options.mostUnfiledIDBytes) = (4 << 10, 256, 256)
        let disk = OverlayDisk()
        options.disk = disk
        lay(&input, in: options)
        guard let first = start(options), first.state.lastSequenceNumber < LogFormat.mostEvents else { return 0 }
        let number = first.state.lastSequenceNumber + 1
        precondition(first.engine.commit([.append(group(number))]) == .success(1), "an event is not taken")
        first.engine.lastAppended = number
        inspect(first.engine)
        for _ in 0..<4 { first.engine.doBackgroundWork() }
        first.engine.finish()
        guard let second = start(options) else { preconditionFailure("the log does not open again") }
        precondition(second.state.lastSequenceNumber == number, "\(second.state.lastSequenceNumber), not \(number)")
        inspect(second.engine)
        return 0
    }

    /// Writes segments as the input says: the kind of a frame, then its length and content. 0 starts another segment.
    private static func lay(_ input: inout FuzzInput, in options: StoreOptions) {
        var (segment, end, writer): (UInt64, Int, LogWriter) = (1, LogHeader.size, LogWriter())
        var header = LogHeader(use: .active, number: segment, previous: 0, previousEnd: 0)
        var last = header.checksum
        while !input.isEmpty, segment < 6 {
            let kind = LogFrame.Kind(rawValue: UInt32(input.number(below: 10)))
            let content = kind == nil ? [] : input.bytes(Int(input.integer(UInt16.self)))
            if let kind {
                let position = LogPosition(segment: segment, offset: LogHeader.size + writer.bytes.count)
                last = writer.frame(
                    kind, at: position, certain: position.offset, previous: last
                ) { $0.putRest(content) }
                continue
            }
            end = LogHeader.size + writer.bytes.count
            write(header, writer, to: segment, options)
            segment += 1
            header = LogHeader(use: .active, number: segment, previous: segment - 1, previousEnd: end)
            (writer, last) = (LogWriter(), header.checksum)
        }
        write(header, writer, to: segment, options)
    }

    private static func write(_ header: LogHeader, _ frames: LogWriter, to number: UInt64, _ options: StoreOptions) {
        let path = "\(options.logDirectory)/00000\(number).log"
        let size = max(options.segmentSize, LogHeader.size + frames.bytes.count + 64)
        let rest = [UInt8](repeating: 0, count: size - LogHeader.size - frames.bytes.count)
        do throws(DiskFault) {
            let file = try options.disk.open(path, creating: true)
            try (header.bytes + frames.bytes + rest).withRawBytes { (bytes) throws(DiskFault) in
                try file.write(bytes, at: 0)
            }
        } catch {
            preconditionFailure("a disk in memory fails: \(error.code)")
        }
    }

    private static func start(_ options: StoreOptions) -> OpenedStore? {
        do throws(StoreFault) {
            let opened = try options.open()
            precondition(0...LogFormat.mostEvents ~= opened.state.lastSequenceNumber)
            return opened
        } catch {
            return nil
        }
    }

    private static func inspect(_ engine: LogEngine) {
        var position: SequenceNumber = 0
        while case .success(let chunk?) = engine.read(after: position) {
            precondition(chunk.lastSequenceNumber > position, "reading behind \(position) does not go on")
            for event in chunk { _ = event.byteCount }
            position = chunk.lastSequenceNumber
        }
        if case .success(let page) = engine.readDeadLetters(DeadLetterQuery(limit: 10)) {
            for stored in page.deadLetters { _ = stored.deadLetter.event?.json(attempt: 1) }
        }
        _ = engine.log.losses.take()
    }

    private static func group(_ number: SequenceNumber) -> AppendGroup {
        var writer = RecordWriter()
        let bytes = EventDraft(id: "e").withTracked(route: 1, spareId: "") { event in
            writer.append(event, sequenceNumber: number, receivedAt: Timestamp(milliseconds: 0), receivedStamp: 0)
        }
        let chunk = Chunk(bytes: writer.take(), lastSequenceNumber: number)
        return AppendGroup(
            chunk: chunk, tallies: [1: Tally(events: 1, bytes: bytes)], ages: GroupAges(chunk), newRoutes: [1: [1]],
            recentIDs: nil)
    }
}
