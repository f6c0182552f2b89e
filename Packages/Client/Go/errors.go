package headgate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// A Reason is the machine-readable cause of a failed call. The daemon has more reasons than these constants.
type Reason string

// Reasons of the daemon's refusals.
const (
	QueueFull       Reason = "queue_full"
	EventTooLarge   Reason = "event_too_large"
	LineTooLong     Reason = "line_too_long"
	Storage         Reason = "storage"
	Unauthorized    Reason = "unauthorized"
	NotFound        Reason = "not_found"
	Conflict        Reason = "conflict"
	Limit           Reason = "limit"
	ShuttingDown    Reason = "shutting_down"
	InvalidSettings Reason = "invalid_settings"
)

// Reasons of the client's own errors.
const (
	CannotConnect Reason = "cannot_connect" // no connection within the timeout
	Disconnected  Reason = "disconnected"   // the connection broke; the call must not be repeated, and may or may not have been done
	TimedOut      Reason = "timed_out"      // the context's deadline; errors.Is says so as well
	Closed        Reason = "closed"         // the client was closed before the answer came
	BufferFull    Reason = "buffer_full"    // too many calls are unanswered: now for TryTrack, else until the context's deadline
	BadAnswer     Reason = "bad_answer"     // the daemon's answer does not follow the protocol
	Misuse        Reason = "misuse"         // such as two workers of a client for one dispatcher
)

// An Error is the error of a call.
type Error struct {
	// Code is JSON-RPC's code, -32000 for the daemon's own refusals, or 0 for an error of the client.
	Code int
	// Reason is empty for JSON-RPC's own errors.
	Reason  Reason
	Message string
	// Path is the path of the wrong parameter, such as events[1].event.
	Path string
	// Data has the other members of the daemon's error, a JSON object, or nil.
	Data json.RawMessage

	cause   error
	isFault bool // waiting for the daemon does not cure it
}

func (e *Error) Error() string {
	if e.Reason == "" {
		return "headgate: " + e.Message
	}
	return fmt.Sprintf("headgate: %s (%s)", e.Message, e.Reason)
}

// Unwrap returns the context's error, if the call ended with its context.
func (e *Error) Unwrap() error { return e.cause }

// ReasonOf returns the reason of an error of this package, or an empty one for other errors.
func ReasonOf(err error) Reason {
	var found *Error
	if errors.As(err, &found) {
		return found.Reason
	}
	return ""
}

func local(reason Reason, format string, arguments ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, arguments...)}
}

// readError reads the member `error` of an answer; nil if it is no error of JSON-RPC.
func readError(raw json.RawMessage) *Error {
	members, isObject := object(raw)
	if !isObject {
		return nil
	}
	found := &Error{}
	if json.Unmarshal(members["code"], &found.Code) != nil || !isString(members["message"], &found.Message) {
		return nil
	}
	if data, isObject := object(members["data"]); isObject {
		found.Data = members["data"]
		var reason string
		isString(data["reason"], &reason)
		isString(data["path"], &found.Path)
		found.Reason = Reason(reason)
	}
	return found
}

// isObject returns true if a JSON value is an object.
func isObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}

// object reads a JSON object; it returns false if the value is none.
func object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	if !isObject(raw) {
		return nil, false
	}
	members := map[string]json.RawMessage{}
	return members, json.Unmarshal(raw, &members) == nil
}

// isString reads a JSON string; it returns false if the value is none.
func isString(raw json.RawMessage, into *string) bool {
	return bytes.HasPrefix(raw, []byte(`"`)) && json.Unmarshal(raw, into) == nil
}
