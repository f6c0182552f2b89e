//go:build go1.21

package headgate

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"sync"
	"time"
)

// A LogHandler is a slog.Handler that tracks each record as an event. Docs/Logging.md lists the fields and the levels.
//
// It never waits and never panics. It drops records while there is no room (buffer_full), records that the daemon refuses (the reason
// of the error), and records that cannot be made into an event (bad_record). The next event that can be tracked is preceded by one
// named EVENT.dropped.
type LogHandler struct {
	sink  *logSink
	level slog.Leveler
	steps []logStep
}

// LogOptions are the options of a LogHandler. A member that is zero has its default.
type LogOptions struct {
	// Level is the lowest level that is tracked; by default slog.LevelInfo.
	Level slog.Leveler
	// Event is the events' name; by default log.
	Event string
	// Logger is the value of the member logger of the data; empty leaves it out.
	Logger string
}

// logStep is a group that was opened, or attributes that were added.
type logStep struct {
	group string
	attrs []slog.Attr
}

const deepestField = 8

// NewLogHandler makes a handler for a client of the program, which the program closes itself. Nil options are the defaults.
func NewLogHandler(client *Client, options *LogOptions) *LogHandler {
	if options == nil {
		options = &LogOptions{}
	}
	handler := &LogHandler{sink: &logSink{client: client, event: "log", logger: options.Logger, ever: map[string]int{}}, level: options.Level}
	if handler.level == nil {
		handler.level = slog.LevelInfo
	}
	if options.Event != "" {
		handler.sink.event = options.Event
	}
	return handler
}

// Dropped returns the number of records that have been dropped so far, by reason.
func (h *LogHandler) Dropped() map[string]int {
	h.sink.mutex.Lock()
	defer h.sink.mutex.Unlock()
	all := make(map[string]int, len(h.sink.ever))
	for reason, count := range h.sink.ever {
		all[reason] = count
	}
	return all
}

// Enabled returns true if records of the level are tracked.
func (h *LogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// WithAttrs returns a handler whose records have these attributes, too.
func (h *LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	return h.with(logStep{attrs: attrs})
}

// WithGroup returns a handler that puts later attributes into a group.
func (h *LogHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.with(logStep{group: name})
}

func (h *LogHandler) with(step logStep) *LogHandler {
	steps := append(h.steps[:len(h.steps):len(h.steps)], step)
	return &LogHandler{h.sink, h.level, steps}
}

// Handle tracks a record, or drops it. It returns no error.
func (h *LogHandler) Handle(_ context.Context, record slog.Record) error {
	defer func() {
		if recover() != nil {
			h.sink.drop("bad_record", 1)
		}
	}()
	data := h.fields(record)
	data["level"], data["message"], data["process"] = levelName(record.Level), record.Message, os.Getpid()
	if h.sink.logger != "" {
		data["logger"] = h.sink.logger
	}
	if record.PC != 0 {
		frame, _ := runtime.CallersFrames([]uintptr{record.PC}).Next()
		data["file"], data["line"], data["function"] = frame.File, frame.Line, frame.Function
	}
	h.sink.track(Event{Event: h.sink.event, Data: data, Time: record.Time})
	return nil
}

// fields returns the attributes of the handler and the record. A group without attributes is left out.
func (h *LogHandler) fields(record slog.Record) map[string]any {
	fields := map[string]any{}
	groups, names := []map[string]any{fields}, []string{}
	for _, step := range h.steps {
		if step.group != "" {
			groups, names = append(groups, map[string]any{}), append(names, step.group)
		}
		for _, attr := range step.attrs {
			addField(groups[len(groups)-1], attr, 0)
		}
	}
	record.Attrs(func(attr slog.Attr) bool {
		addField(groups[len(groups)-1], attr, 0)
		return true
	})
	for place := len(names) - 1; place >= 0; place-- {
		if len(groups[place+1]) > 0 {
			groups[place][names[place]] = groups[place+1]
		}
	}
	return fields
}

func addField(fields map[string]any, attr slog.Attr, depth int) {
	value := attr.Value.Resolve()
	if attr.Key == "" && value.Kind() != slog.KindGroup {
		if attr.Equal(slog.Attr{}) {
			return
		}
	}
	if value.Kind() != slog.KindGroup {
		fields[attr.Key] = plainField(value)
		return
	}
	members := fields
	if attr.Key != "" {
		members = map[string]any{}
	}
	if depth < deepestField {
		for _, one := range value.Group() {
			addField(members, one, depth+1)
		}
	}
	if attr.Key != "" && len(members) > 0 {
		fields[attr.Key] = members
	}
}

// plainField returns a value that JSON can represent. Other values become text.
func plainField(value slog.Value) any {
	switch value.Kind() {
	case slog.KindFloat64:
		if number := value.Float64(); math.IsNaN(number) || math.IsInf(number, 0) {
			return value.String()
		}
	case slog.KindDuration:
		return value.Duration().String()
	case slog.KindTime:
		return value.Time().Format(time.RFC3339Nano)
	case slog.KindAny:
		if err, isError := value.Any().(error); isError {
			return err.Error()
		}
		text, err := json.Marshal(value.Any())
		if err != nil || depth(text) > deepestField {
			return fmt.Sprintf("%+v", value.Any())
		}
		return json.RawMessage(text)
	}
	return value.Any()
}

func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelDebug:
		return "TRACE"
	case level < slog.LevelInfo:
		return "DEBUG"
	case level < slog.LevelWarn:
		return "INFO"
	case level < slog.LevelError:
		return "WARNING"
	case level < slog.LevelError+4:
		return "ERROR"
	}
	return "CRITICAL"
}

// logSink tracks records, and reports those that are dropped.
type logSink struct {
	client        *Client
	event, logger string

	mutex      sync.Mutex
	ever       map[string]int
	unreported map[string]int
	since      time.Time
	pending    []tracked
	isWatching bool
}

// tracked is an event without an outcome yet. A report of dropped records that is not stored is tracked again.
type tracked struct {
	event  *Pending
	report map[string]int
	since  time.Time
}

func (s *logSink) track(event Event) {
	s.reportDropped()
	pending, err := s.client.TryTrack(event)
	if err != nil {
		s.judge(err)
		return
	}
	s.watch(tracked{event: pending})
}

func (s *logSink) reportDropped() {
	s.mutex.Lock()
	reasons, since := s.unreported, s.since
	s.unreported = nil
	s.mutex.Unlock()
	if len(reasons) == 0 {
		return
	}
	count := 0
	for _, one := range reasons {
		count += one
	}
	data := map[string]any{"count": count, "reasons": reasons, "since": since.UTC()}
	pending, err := s.client.TryTrack(Event{Event: s.event + ".dropped", Data: data})
	if err != nil {
		s.putBack(reasons, since)
		return
	}
	s.watch(tracked{pending, reasons, since})
}

func (s *logSink) judge(err error) {
	reason := string(ReasonOf(err))
	if reason == "" {
		reason = "refused"
	}
	if reason == string(Misuse) {
		reason = "bad_record"
	}
	s.drop(reason, 1)
}

func (s *logSink) drop(reason string, count int) {
	s.mutex.Lock()
	s.ever[reason] += count
	s.mutex.Unlock()
	s.putBack(map[string]int{reason: count}, time.Now())
}

func (s *logSink) putBack(reasons map[string]int, since time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.unreported == nil {
		s.unreported, s.since = map[string]int{}, since
	}
	for reason, count := range reasons {
		s.unreported[reason] += count
	}
}

// watch has a goroutine wait for the outcome. There is one while events are unanswered.
func (s *logSink) watch(one tracked) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.pending = append(s.pending, one)
	if !s.isWatching {
		s.isWatching = true
		go s.await()
	}
}

func (s *logSink) await() {
	for one, isThere := s.next(); isThere; one, isThere = s.next() {
		_, err := one.event.Receipt()
		if err != nil && one.report != nil {
			s.putBack(one.report, one.since)
		} else if err != nil {
			s.judge(err)
		}
	}
}

func (s *logSink) next() (tracked, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.pending) == 0 {
		s.pending, s.isWatching = nil, false
		return tracked{}, false
	}
	one := s.pending[0]
	s.pending = s.pending[1:]
	return one, true
}
