import Glibc
import HeadgateTransport
import Testing

@Suite struct LoopSignalTests {
    @Test("a signal to the process calls back on the loop, each time", arguments: [SIGUSR1, SIGUSR2])
    func signalArrives(number: Int32) throws {
        var times = 0
        var signal: LoopSignal?
        try onLoop { loop in
            signal = try LoopSignal(number, on: loop) {
                #expect(loop.isCurrent)
                times += 1
                if times == 3 { loop.stop() } else { kill(getpid(), number) }
            }
            kill(getpid(), number)
        }
        #expect(times == 3)
        withExtendedLifetime(signal) {}
    }

    @Test("a signal that does not exist is refused")
    func unknownSignal() throws {
        try onLoop { loop in
            #expect(throws: TransportError.self) { try LoopSignal(1000, on: loop) {} }
            loop.stop()
        }
    }
}
