import HeadgateCore
import HeadgateData
import HeadgateWire

extension BoardAnswer {
    /// What a process answered to `board.run`. Whatever it is but a result with `done` counts as an error.
    init(_ result: Result<JSONView, PeerFault>) {
        switch result {
        case .success(let view):
            guard let done = view.member("done")?.bool else {
                self = .failure(.noResult)
                return
            }
            self = .success(BoardResult(done: done, output: view.member("output")?.item))
        case .failure(.refused(let error)): self = .failure(ActivationFault(error))
        case .failure(.gone): self = .failure(ActivationFault(message: "its process is gone"))
        }
    }
}

extension ActivationFault {
    fileprivate static let noResult = ActivationFault(message: "its process answered without `done`")

    /// A process that leaves what it is sent unread gets nothing more (Behaviour X2).
    static let notReading = ActivationFault(message: "its process does not read what it is sent")

    fileprivate init(_ error: RPCError) {
        var told: DataObject = ["code": .number(DataNumber(error.code)), "message": .string(error.message)]
        if !error.data.isEmpty { told["data"] = .object(error.data) }
        self.init(message: error.message, error: told)
    }
}
