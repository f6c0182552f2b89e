//go:build go1.21

package headgate

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/slogtest"
	"time"
)

func logClient(t *testing.T, daemon *fakeDaemon, options Options) *Client {
	options.SocketPath, options.CloseTimeout = daemon.path, time.Millisecond
	options.Logf = func(string, ...any) {}
	client := New("test", "1.0", options)
	t.Cleanup(func() { client.Close() })
	return client
}

// events acknowledges as many events, and returns their params.
func (c *fakeConnection) events(count int) []map[string]any {
	c.test.Helper()
	all := []map[string]any{}
	for len(all) < count {
		request := c.request("track")
		c.answer(request, map[string]any{"id": request.Params["id"], "seq": 1})
		all = append(all, request.Params)
	}
	return all
}

func TestLogHandlerPassesSlogtest(t *testing.T) {
	daemon := startDaemon(t)
	client := logClient(t, daemon, Options{})
	err := slogtest.TestHandler(NewLogHandler(client, nil), func() []map[string]any {
		connection := daemon.greet()
		results := []map[string]any{}
		for _, params := range connection.events(client.Unanswered()) {
			data := params["data"].(map[string]any)
			data[slog.MessageKey] = data["message"]
			if time, hasTime := params["time"]; hasTime {
				data[slog.TimeKey] = time
			}
			for _, own := range []string{"message", "process", "file", "line", "function"} {
				delete(data, own)
			}
			results = append(results, data)
		}
		return results
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRecordsBecomeEvents(t *testing.T) {
	daemon := startDaemon(t)
	logger := slog.New(NewLogHandler(logClient(t, daemon, Options{}), &LogOptions{Logger: "till", Level: slog.LevelDebug}))
	logger.With("shop", 7).WithGroup("order").Warn("slow", "id", 17, "odd", math.NaN(), "took", time.Second, "bad", make(chan int))
	connection := daemon.greet()
	data := connection.events(1)[0]["data"].(map[string]any)
	order := data["order"].(map[string]any)
	got := []any{data["level"], data["logger"], data["message"], data["shop"], order["id"], order["odd"], order["took"]}
	for place, wanted := range []any{"WARNING", "till", "slow", 7.0, 17.0, "NaN", "1s"} {
		if got[place] != wanted {
			t.Fatalf("expected %v, got %v", wanted, got[place])
		}
	}
	if !strings.HasSuffix(data["function"].(string), "TestRecordsBecomeEvents") || order["bad"] == nil {
		t.Fatal(data)
	}
	for _, level := range []slog.Level{-8, -4, 0, 2, 4, 8, 12} {
		logger.Log(context.Background(), level, "x")
	}
	for place, params := range connection.events(6) {
		wanted := []string{"DEBUG", "INFO", "INFO", "WARNING", "ERROR", "CRITICAL"}[place]
		if params["data"].(map[string]any)["level"] != wanted {
			t.Fatalf("expected %s, got %v", wanted, params)
		}
	}
}

// awkward is a slog.LogValuer that slog cannot resolve.
type awkward struct{}

func (awkward) MarshalJSON() ([]byte, error) { panic("no") }

func TestDroppedRecordsAreReported(t *testing.T) {
	daemon := startDaemon(t)
	client := logClient(t, daemon, Options{MaxUnanswered: 2})
	handler := NewLogHandler(client, nil)
	logger := slog.New(handler)
	for n := 0; n < 5; n++ {
		logger.Info("x")
	}
	logger.Info("x", "bad", awkward{})
	if dropped := handler.Dropped(); dropped["buffer_full"] != 3 || dropped["bad_record"] != 1 {
		t.Fatal(dropped)
	}
	connection := daemon.greet()
	connection.events(2)
	if err := client.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	logger.Info("next")
	all := connection.events(2)
	report := all[0]["data"].(map[string]any)
	if all[0]["event"] != "log.dropped" || report["count"] != 4.0 || all[1]["data"].(map[string]any)["message"] != "next" {
		t.Fatal(all)
	}
}
