import Testing

@testable import HeadgateCore

@Suite("Gateways before boards")
struct GatewayTests {
    private func rules(_ rules: [String: String?], allowsBypass: Bool = true) throws -> GatewayRules {
        var made: [GatewayPattern: GatewayRules.Rule] = [:]
        for (text, board) in rules {
            made[try #require(GatewayPattern(text))] = board.map { .barrier(ActivationBarrier(board: $0)) } ?? .exempt
        }
        return GatewayRules(made, allowsBypass: allowsBypass)
    }

    @Test("A7: a pattern is a name, or a prefix followed by *")
    func patterns() {
        for text in ["a", "shop.*", "*"] { #expect(GatewayPattern(text) != nil, "\(text)") }
        for text in ["", "**", "a*b", "*a", "a**", "a\u{7}"] { #expect(GatewayPattern(text) == nil, "\(text)") }
    }

    @Test("A7: an exact name has precedence over the longest prefix, and exempt removes the gateway")
    func precedence() throws {
        let rules = try rules(["*": "any", "shop*": "clerk", "shop.pay*": "pay", "shop.pay": "exact", "pub*": nil])
        let expected = [
            "x": "any", "shop": "clerk", "shop.cart": "clerk", "shop.pay.card": "pay", "shop.pay": "exact",
            "public": nil, "pu": "any", "clerk": "any", "any": nil,
        ]
        for (board, gateway) in expected { #expect(rules.barrier(before: board)?.board == gateway, "\(board)") }
    }

    @Test("A7: the gateway runs before the board's own barrier")
    func order() throws {
        var bench = ActivationBench()
        bench.machine.gateways = try rules(["*": "gate", "auth": nil])
        for board in ["gate", "auth"] { try bench.serve(board) }
        try bench.serve("checkout", behind: ActivationBarrier(board: "auth"))
        try bench.activate("checkout")
        for board in ["gate", "auth", "checkout"] {
            #expect(bench.running == [board])
            bench.answer(board)
        }
    }

    @Test("A7: the gateway also applies to boards run as barriers")
    func beforeBarriers() throws {
        var bench = ActivationBench()
        bench.machine.gateways = try rules(["auth": "gate"])
        for board in ["gate", "auth"] { try bench.serve(board) }
        try bench.serve("checkout", behind: ActivationBarrier(board: "auth"))
        let activation = try bench.activate("checkout")
        #expect(bench.running == ["gate"])
        bench.answer("gate", done: false)
        #expect(bench.outcome(of: activation) == .cancelled(barrier: "gate", cause: .refused))
    }

    @Test("A7: a board whose own barrier is its gateway runs it once")
    func sameTwice() throws {
        var bench = ActivationBench()
        bench.machine.gateways = try rules(["*": "gate"])
        try bench.serve("gate")
        try bench.serve("checkout", behind: ActivationBarrier(board: "gate"))
        try bench.activate("checkout")
        bench.answer("gate")
        #expect(bench.running == ["checkout"])
    }

    @Test("A5, A7: a barrier that is also the gateway and passes on timeout runs once")
    func sameTwiceInVain() throws {
        var bench = ActivationBench()
        var slow = ActivationBarrier(board: "slow")
        slow.timeout = .milliseconds(500)
        slow.onTimeout = .pass
        bench.machine.gateways = GatewayRules([try #require(GatewayPattern("*")): .barrier(slow)])
        try bench.serve("slow")
        try bench.serve("checkout", behind: slow)
        try bench.activate("checkout")
        #expect(bench.running == ["slow"])
        bench.pass(.milliseconds(500))
        #expect(bench.running == ["checkout"])
    }

    @Test("A7: a board may bypass the gateway unless the settings forbid that")
    func bypass() throws {
        let serving = BoardServing(bypassesGateway: true)
        var bench = ActivationBench()
        try bench.serve("gate")
        try bench.serve("checkout", serving)
        bench.machine.gateways = try rules(["*": "gate"])
        try bench.activate("checkout")
        #expect(bench.running == ["checkout"] && bench.machine.deniedBypasses == [])
        bench.machine.gateways = try rules(["*": "gate"], allowsBypass: false)
        try bench.activate("checkout")
        #expect(bench.running == ["checkout", "gate"] && bench.machine.deniedBypasses == ["checkout"])
    }

    @Test("A7: a board that bypasses the gateway still waits for its own barrier, even when it runs as a barrier")
    func bypassLiftsGatewayOnly() throws {
        var bench = ActivationBench()
        bench.machine.gateways = try rules(["*": "gate", "auth": nil])
        for board in ["gate", "auth"] { try bench.serve(board) }
        for (board, own) in [("checkout", "auth"), ("till", "checkout")] {
            try bench.serve(board, BoardServing(barrier: ActivationBarrier(board: own), bypassesGateway: true))
        }
        for chain in [["auth", "checkout"], ["auth", "checkout", "till"]] {
            try bench.activate(try #require(chain.last))
            for board in chain {
                #expect(bench.running == [board])
                bench.answer(board)
            }
        }
        #expect(bench.ends.count == 2)
    }

    @Test("A7: changed gateway rules apply to later activations")
    func changed() throws {
        var bench = ActivationBench()
        for board in ["gate", "checkout"] { try bench.serve(board) }
        bench.machine.gateways = try rules(["*": "gate"])
        try bench.activate("checkout")
        bench.machine.gateways = GatewayRules()
        try bench.activate("checkout")
        #expect(bench.running == ["gate", "checkout"])
    }

    // MARK: A8

    @Test("A8: a gateway's own board does not wait for the gateway")
    func ownBoard() throws {
        var bench = ActivationBench()
        bench.machine.gateways = try rules(["*": "gate"])
        #expect(bench.machine.gateways.cycle == nil)
        try bench.serve("gate")
        try bench.activate("gate")
        #expect(bench.running == ["gate"])
    }

    @Test("A8: a cycle of gateways is found, with its path")
    func cyclesOfRules() throws {
        #expect(try rules(["*": "auth", "auth": "login"]).cycle == ["auth", "login", "auth"])
        #expect(try rules(["*": "auth", "auth": "login", "login": nil]).cycle == nil)
        #expect(try rules(["a*": "b1", "b*": "c1", "c*": "a1"]).cycle == ["a1", "b1", "c1", "a1"])
        #expect(try rules(["a*": "b", "b*": "c"]).cycle == nil)
    }
}
