package headgate

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

// An Event is something that happened.
type Event struct {
	// Event is the event's name, which is not empty.
	Event string
	// Data becomes a JSON object. Nil, or a value that becomes null, such as a nil map, is no data.
	Data any
	// ID lets the daemon recognise a repeat (Behaviour Q7); if it is empty the client makes a UUIDv7.
	ID string
	// Key is the ordering key: events of one key keep their order also while several batches are in flight. Empty is no key.
	Key string
	// Time is the moment of the event; zero is the moment at which the daemon receives it.
	Time time.Time
	// Dispatchers are the only dispatchers that get the event. Nil follows the routes. An unknown one is an error.
	Dispatchers []string
	// TTL is the time from its receipt after which the event expires, in whole milliseconds. Nil is never.
	TTL *time.Duration
}

// MarshalJSON returns the params of `track`. A name, id or key that is not UTF-8 is an error: encoding/json would replace bytes,
// and could make different ids equal.
func (e Event) MarshalJSON() ([]byte, error) {
	for _, text := range []string{e.Event, e.ID, e.Key} {
		if !utf8.ValidString(text) {
			return nil, local(Misuse, "a name, id or key is not UTF-8: %q", text)
		}
	}
	params := struct {
		Event       string          `json:"event"`
		Data        json.RawMessage `json:"data,omitempty"`
		ID          string          `json:"id,omitempty"`
		Key         string          `json:"key,omitempty"`
		Time        *time.Time      `json:"time,omitempty"`
		Dispatchers *[]string       `json:"dispatchers,omitempty"`
		TTL         *int64          `json:"ttl_ms,omitempty"`
	}{Event: e.Event, ID: e.ID, Key: e.Key}
	if e.Data != nil {
		data, err := encode(e.Data)
		if err != nil {
			return nil, err
		}
		if string(data) != "null\n" {
			params.Data = data
		}
	}
	if !e.Time.IsZero() {
		utc := e.Time.UTC()
		params.Time = &utc
	}
	if e.Dispatchers != nil {
		params.Dispatchers = &e.Dispatchers
	}
	if e.TTL != nil {
		milliseconds := e.TTL.Milliseconds()
		params.TTL = &milliseconds
	}
	return encode(params)
}

func (e Event) withID() Event {
	if e.ID == "" {
		e.ID = NewID()
	}
	return e
}

// A Receipt says that an event is stored (Behaviour P1), or that no dispatcher takes it.
type Receipt struct {
	ID string
	// Seq is the event's sequence number in the daemon; 0 if it is unrouted.
	Seq uint64
	// Duplicate is true if the daemon had stored this id before: by this call's first attempt, or by another event with the same
	// id. That event may since have been delivered or purged, or have become a dead letter.
	Duplicate bool
	// Unrouted is true if no dispatcher takes the event.
	Unrouted bool
}

func readReceipt(result json.RawMessage) (Receipt, error) {
	said := struct {
		ID        *string
		Seq       uint64
		Duplicate bool
		Unrouted  bool
	}{}
	if json.Unmarshal(result, &said) != nil || said.ID == nil {
		return Receipt{}, local(BadAnswer, "the result of track is malformed")
	}
	return Receipt{*said.ID, said.Seq, said.Duplicate, said.Unrouted}, nil
}

// A ManyReceipt says that several events are stored together.
type ManyReceipt struct {
	IDs []string `json:"ids"`
	// FirstSeq is the lowest of their sequence numbers, LastSeq the highest; 0 if all are unrouted.
	FirstSeq   uint64 `json:"first_seq"`
	LastSeq    uint64 `json:"last_seq"`
	Duplicates int    `json:"duplicates"`
	Unrouted   int    `json:"unrouted"`
}

// An Outcome is the outcome of one event of TrackEach: its receipt, or an error.
type Outcome struct {
	Receipt Receipt
	Err     error
}

// A Pending event is not acknowledged yet.
type Pending struct{ call *call }

// Done returns a channel that is closed when Receipt no longer waits.
func (p *Pending) Done() <-chan struct{} { return p.call.done }

// Receipt waits until the event is acknowledged or refused, or its client is closed.
func (p *Pending) Receipt() (Receipt, error) {
	<-p.call.done
	if p.call.err != nil {
		return Receipt{}, p.call.err
	}
	return readReceipt(p.call.result)
}
