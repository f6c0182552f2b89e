import Testing

@testable import HeadgateCommands

@Suite struct RateGaugeTests {
    @Test("It tells by how much a counter grew in the last second, once it has been looked at twice")
    func rate() {
        var gauge = RateGauge()
        #expect(gauge.perSecond == nil)
        gauge.look(100, at: 0)
        #expect(gauge.perSecond == nil)
        gauge.look(150, at: 500_000_000)
        #expect(gauge.perSecond == 100)
        gauge.look(150, at: 1_500_000_000)
        #expect(gauge.perSecond == 0)
    }

    @Test("A counter that went back, and a clock that stands, tell nothing; then it goes on from there")
    func anew() {
        var gauge = RateGauge()
        gauge.look(100, at: 0)
        gauge.look(5, at: 1_000_000_000)
        #expect(gauge.perSecond == nil)
        gauge.look(6, at: 1_000_000_000)
        #expect(gauge.perSecond == nil)
        gauge.look(8, at: 2_000_000_000)
        #expect(gauge.perSecond == 2)
        gauge.look(.max, at: 3_000_000_000)
        gauge.look(.min, at: 4_000_000_000)
        #expect(gauge.perSecond == nil)
    }
}
