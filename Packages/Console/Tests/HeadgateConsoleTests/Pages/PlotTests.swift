import Testing

@testable import HeadgateConsole

/// Tests the plots that the server draws.
@Suite("Plots")
struct PlotTests {
    @Test("A line connects the values, with the largest at the top, and has gaps at unknown values")
    func lines() {
        #expect(Plot.path([0, 5, 10], top: 10) == "M0 100h.5L1 50L2 0")
        #expect(Plot.path([nil, 10, nil, nil, 0, 2.5], top: 10) == "M1 0h.5M4 100h.5L5 75")
        #expect(Plot.path([], top: 0) == "" && Plot.path([0], top: 0) == "M0 100h.5")
    }

    @Test(
        "The top is the next round number",
        arguments: [(0.0, 0.0), (0.03, 0.05), (1, 1), (1.1, 2), (2.1, 5), (60, 100), (1_000, 1_000), (1_001, 2_000)])
    func tops(value: Double, top: Double) {
        #expect(abs(Plot.round(above: value) - top) < top / 1e6 + 1e-12)
    }

    @Test("A plot has a description in words")
    func words() {
        let line = Plot.Line(name: "received", now: "3", values: [1, nil, 3])
        let plot = Plot(title: "Events", lines: [line]) { "\(Int($0))" }
        #expect(plot.html.text.contains("aria-label=\"Events, last 15 minutes: received now 3, at most 3\""))
    }
}
