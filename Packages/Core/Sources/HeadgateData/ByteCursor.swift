/// Lays bytes one behind the other into room that was made for all of them: nothing is looked at but in debug builds. It is inlined
/// where it is used, so that text of the program becomes a few stores.
public struct ByteCursor {
    /// Where it lays them.
    public let room: UnsafeMutableRawBufferPointer
    @usableFromInline var laid = 0

    /// A cursor at the beginning of some room.
    @inlinable
    public init(_ room: UnsafeMutableRawBufferPointer) {
        self.room = room
    }

    /// How many bytes it has laid.
    @inlinable public var offset: Int { laid }

    /// Lays bytes as they are.
    @inlinable @inline(__always)
    public mutating func put(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: room[laid..<laid + bytes.count]).copyMemory(from: bytes)
        laid += bytes.count
    }

    /// Lays text of the program.
    @inlinable @inline(__always)
    public mutating func put(_ text: StaticString) {
        put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Lays a number in decimal digits; one that is negative, which is nobody's, as 0.
    @inlinable
    public mutating func put(_ number: Int64) {
        let end = laid + number.digitCount
        var (rest, place) = (UInt64(clamping: number), end)
        while rest >= 10 {
            place -= 2
            let pair = UnsafeRawPointer(ByteCursor.pairs.utf8Start + Int(truncatingIfNeeded: rest % 100) * 2)
            room.storeBytes(of: pair.loadUnaligned(as: UInt16.self), toByteOffset: place, as: UInt16.self)
            rest /= 100
        }
        if place > laid { room[laid] = 0x30 + UInt8(truncatingIfNeeded: rest) }
        laid = end
    }

    /// All numbers of two digits: half as many divisions.
    @usableFromInline static var pairs: StaticString {
        """
        0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
        5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899
        """
    }

    /// Passes over room, which is written later.
    @inlinable
    public mutating func skip(_ count: Int) {
        laid += count
    }
}

extension Int64 {
    /// How many decimal digits ``ByteCursor`` lays of it.
    @inlinable public var digitCount: Int {
        let number = UInt64(clamping: self)
        var (count, next) = (1, 10 as UInt64)
        while number >= next {
            count += 1
            next *= 10
        }
        return count
    }
}

extension [UInt8] {
    /// Appends what is laid into room for so many bytes at most.
    @inlinable @inline(__always)
    public mutating func lay(most count: Int, _ body: (inout ByteCursor) -> Void) {
        append(addingCapacity: count) { span in
            span.withUnsafeMutableBufferPointer { room, laid in
                var cursor = ByteCursor(UnsafeMutableRawBufferPointer(room))
                body(&cursor)
                laid = cursor.offset
            }
        }
    }
}
