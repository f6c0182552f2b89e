import Testing

@testable import HeadgateServer

/// Tests the order of the requests for the kernel's lists.
@Suite struct NetlinkInquiryTests {
    @Test("B21: links come first, then addresses, then routes, one at a time")
    func order() throws {
        var inquiry = NetlinkInquiry()
        for list in NetworkList.allCases.reversed() { inquiry.want(list) }
        for expected in [NetworkList.links, .addresses, .routes] {
            let number = try inquiry.expectNext(expected)
            inquiry.expectNothingNext()
            #expect(!inquiry.isComplete)
            inquiry.ended(number)
        }
        #expect(inquiry.isComplete)
        inquiry.expectNothingNext()
    }

    @Test("B21: a list that is requested while it arrives is requested again, under another number")
    func again() throws {
        var inquiry = NetlinkInquiry()
        inquiry.want(.routes)
        let first = try inquiry.expectNext(.routes)
        inquiry.want(.routes)
        inquiry.expectNothingNext()
        inquiry.ended(first)
        #expect(!inquiry.isComplete)
        let second = try inquiry.expectNext(.routes)
        #expect(second != first)
        inquiry.ended(second)
        #expect(inquiry.isComplete)
    }

    @Test("B21: an interrupted list is requested again after its end")
    func interrupted() throws {
        var inquiry = NetlinkInquiry()
        inquiry.want(.links)
        let number = try inquiry.expectNext(.links)
        inquiry.interrupted(number)
        inquiry.expectNothingNext()
        inquiry.ended(number)
        _ = try inquiry.expectNext(.links)
    }

    @Test("B21: a refused list is requested again")
    func refused() throws {
        var inquiry = NetlinkInquiry()
        inquiry.want(.links)
        let wasInProgress = inquiry.refused(try inquiry.expectNext(.links))
        #expect(wasInProgress)
        #expect(!inquiry.isComplete)
        _ = try inquiry.expectNext(.links)
    }

    @Test("B21: a message with another number than the present list is ignored")
    func foreign() throws {
        var inquiry = NetlinkInquiry()
        inquiry.want(.links)
        let number = try inquiry.expectNext(.links)
        inquiry.expectIndifference(to: number + 1)
        #expect(!inquiry.isComplete)
        inquiry.ended(number)
        #expect(inquiry.isComplete)
        inquiry.expectIndifference(to: number)
        #expect(inquiry.isComplete)
    }
}

extension NetlinkInquiry {
    /// Takes the next request, which must be for this list, and returns its number.
    fileprivate mutating func expectNext(_ list: NetworkList) throws -> UInt32 {
        let next = self.next()
        #expect(next?.list == list)
        return try #require(next).number
    }

    fileprivate mutating func expectNothingNext() {
        let next = self.next()
        #expect(next == nil)
    }

    fileprivate mutating func expectIndifference(to number: UInt32) {
        ended(number)
        interrupted(number)
        let wasInProgress = refused(number)
        #expect(!wasInProgress)
    }
}
