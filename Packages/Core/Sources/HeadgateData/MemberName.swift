/// A member's name as JSON compares it: by its bytes. Swift's own strings are equal when they look alike.
struct MemberName {
    private let text: String

    init(_ text: String) {
        self.text = text
    }
}

extension MemberName: Hashable {
    static func == (left: MemberName, right: MemberName) -> Bool {
        left.text.utf8.count == right.text.utf8.count && left.text.utf8.elementsEqual(right.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
