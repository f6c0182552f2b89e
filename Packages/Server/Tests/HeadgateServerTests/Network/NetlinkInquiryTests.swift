import Testing

@testable import HeadgateServer

/// The order in which the kernel is asked for its lists.
@Suite struct NetlinkInquiryTests {
    private func everything() -> NetlinkInquiry {
        var inquiry = NetlinkInquiry()
        NetworkList.allCases.forEach { inquiry.want($0) }
        return inquiry
    }

    @Test("B21: links come first, then addresses, then routes, one at a time")
    func order() throws {
        var inquiry = everything()
        for expected in [NetworkList.links, .addresses, .routes] {
            let (list, number) = try #require(inquiry.next())
            #expect(list == expected)
            #expect(inquiry.next() == nil)
            #expect(!inquiry.isComplete)
            inquiry.ended(number)
        }
        #expect(inquiry.isComplete)
        #expect(inquiry.next() == nil)
    }

    @Test("B21: a list that is wanted again while it is under way is asked for once more, under another number")
    func again() throws {
        var inquiry = NetlinkInquiry()
        inquiry.want(.routes)
        let first = try #require(inquiry.next()).number
        inquiry.want(.routes)
        inquiry.ended(first)
        #expect(!inquiry.isComplete)
        let (list, second) = try #require(inquiry.next())
        #expect(list == .routes)
        #expect(second != first)
        inquiry.ended(second)
        #expect(inquiry.isComplete)
    }

    @Test("B21: a list that was interrupted is asked for once more when it is at its end")
    func interrupted() throws {
        var inquiry = NetlinkInquiry()
        inquiry.want(.links)
        let number = try #require(inquiry.next()).number
        inquiry.interrupted(number)
        #expect(inquiry.next() == nil)
        inquiry.ended(number)
        #expect(inquiry.next()?.list == .links)
    }

    @Test("B21: a list that was refused is still wanted")
    func refused() throws {
        var inquiry = NetlinkInquiry()
        inquiry.want(.links)
        let number = try #require(inquiry.next()).number
        #expect(inquiry.refused(number))
        #expect(!inquiry.isComplete)
        #expect(inquiry.next()?.list == .links)
    }

    @Test("B21: what carries another number than the list under way means nothing")
    func foreign() throws {
        var inquiry = NetlinkInquiry()
        inquiry.want(.links)
        let number = try #require(inquiry.next()).number
        inquiry.ended(number + 1)
        inquiry.interrupted(number + 1)
        #expect(!inquiry.refused(number + 1))
        #expect(!inquiry.isComplete)
        inquiry.ended(number)
        #expect(inquiry.isComplete)
        inquiry.ended(number)
        #expect(!inquiry.refused(number))
        #expect(inquiry.isComplete)
    }
}
