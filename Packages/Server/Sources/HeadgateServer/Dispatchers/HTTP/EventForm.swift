import HeadgateCore
import HeadgateData

/// The form in which dispatchers of kind `http` send events (Behaviour K1).
struct EventForm: HTTPForm {
    var method = HTTPSettings.Method.post
    var format = Format.jsonArray
    /// The `schema` of an envelope.
    var envelopeSchema = "headgate/1"
    /// The attributes of the CloudEvents formats.
    var cloudEvents = CloudEventForm(source: "")

    enum Format: String, Sendable, CaseIterable {
        case jsonArray = "json_array"
        case ndjson
        case envelope
        case cloudEvents = "cloudevents"
        case singleCloudEvent = "cloudevents_single"

        var isOfCloudEvents: Bool { self == .cloudEvents || self == .singleCloudEvent }
    }

    var contentType: String {
        switch format {
        case .jsonArray, .envelope: "application/json"
        case .ndjson: "application/x-ndjson"
        case .cloudEvents: "application/cloudevents-batch+json; charset=UTF-8"
        case .singleCloudEvent: "application/cloudevents+json; charset=UTF-8"
        }
    }

    var batchFormat: BatchFormat {
        guard method == .post else { return .single }
        return switch format {
        case .jsonArray: .jsonArray
        case .ndjson: .ndjson
        case .envelope: .envelope(schema: envelopeSchema)
        case .cloudEvents: .cloudEvents(cloudEvents)
        case .singleCloudEvent: .singleCloudEvent(cloudEvents)
        }
    }
}
