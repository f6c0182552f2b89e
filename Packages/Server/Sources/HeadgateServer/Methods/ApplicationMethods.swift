import HeadgateCore
import HeadgateWire

// Retroactive: type and protocol are both the project's own, and nobody else makes it conform.
extension ApplicationStatus: @retroactive ParameterValue {}

/// `application.status`.
enum ApplicationMethods {
    static let all = [Method("application.status", .track, status)]

    private static func status(_ service: Service, _ call: Call) throws(RPCError) {
        let status: ApplicationStatus = try call.reader.required("status")
        service.statuses.announce(status, by: call.session.number, flushingOn: service.settings.flushOn)
        call.reply.answer()
    }
}
