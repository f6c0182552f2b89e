import HeadgateCore

/// The part in which kinds of dispatchers over HTTP differ: how a request's body is made, and how an answer is judged.
/// Everything else is in ``HTTPSettings`` and ``HTTPSender``.
protocol HTTPForm: Sendable, Equatable {
    /// The form in which the dispatcher puts a batch together.
    var batchFormat: BatchFormat { get }
    /// The method of requests. With GET there is no body, and the event is in the URL.
    var method: HTTPSettings.Method { get }
    /// The `Content-Type` of a body.
    var contentType: String { get }
    /// Converts a batch's body into the body to send. Called on a separate thread. Nil if the batch's body is sent
    /// unchanged.
    var conversion: (@Sendable ([UInt8]) -> [UInt8])? { get }
    /// The most bytes of a successful answer that ``outcome(ofSuccess:)`` needs.
    var successLimit: Int { get }
    /// Returns the result of a complete answer with a status 2xx.
    /// - Parameter body: the beginning of the answer's body, decompressed.
    func outcome(ofSuccess body: [UInt8]) -> SendResult
    /// Returns the part of a refusal's body that people can read.
    func message(ofRefusal body: [UInt8]) -> [UInt8]
}

extension HTTPForm {
    var method: HTTPSettings.Method { .post }
    var conversion: (@Sendable ([UInt8]) -> [UInt8])? { nil }
    var successLimit: Int { 0 }
    func outcome(ofSuccess body: [UInt8]) -> SendResult { .delivered }
    func message(ofRefusal body: [UInt8]) -> [UInt8] { body }
}
