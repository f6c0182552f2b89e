import HeadgateWire

/// One call of a method.
struct Call {
    let session: Session
    let reply: Reply
    /// The parameters, which the method's declaration reads. They are valid only until the method returns.
    let params: JSONView?

    init(session: Session, params: JSONView?, reply: Reply) {
        self.session = session
        self.params = params
        self.reply = reply
    }
}
