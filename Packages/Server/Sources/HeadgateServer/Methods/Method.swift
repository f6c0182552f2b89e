import HeadgateWire

/// The declaration of one method of the protocol: name, parameters, result and errors. ``FamilyMethod`` adds the code.
struct Method: Sendable {
    let name: StaticString
    let group: MethodGroup
    /// The summary of the method, for documents.
    let summary: String
    /// A Boolean value that says whether a client may repeat the call by itself, because the method changes nothing.
    let changesNothing: Bool
    let params: [Schema.Member]
    let result: Schema
    /// The errors of the service that the method may return, besides those of every request.
    let reasons: [ErrorReason]
}
