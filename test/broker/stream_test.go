package broker

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

const events = 8

// metronome sends one event at a time, and the next one only when somebody has said
// that the last one arrived.
func metronome(t testing.TB) http.HandlerFunc {
	acks := make(chan string, events)
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/count_tokens") {
			b, _ := io.ReadAll(r.Body)
			acks <- string(b)
			io.WriteString(w, `{"input_tokens":1}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range events {
			// Its end may be the beginning of the key, and is not waited for either.
			want := fmt.Sprintf("event-%d %s", i, realKey[:10*i])
			fmt.Fprintf(w, "event: x\ndata: %s\n\n", want)
			w.(http.Flusher).Flush()
			select {
			case got := <-acks:
				if !strings.Contains(got, want) {
					t.Errorf("%q was said to have arrived after %s", got, want)
				}
			case <-r.Context().Done():
				return
			case <-time.After(wait.Patience / 3):
				t.Errorf("%s did not arrive", want)
				return
			}
		}
	}
}

// An answer enters as it comes, by either way to the upstream.
func TestModelStream(t *testing.T) {
	for _, way := range []string{"named upstream", "vendor"} {
		t.Run(way, func(t *testing.T) {
			s := begin(t)
			s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey)
			if way == "vendor" {
				s.vendor(vendorName, vendorAddr, metronome(t))
			} else {
				_, at := s.local(metronome(t))
				s.env = append(s.env, "ANTHROPIC_BASE_URL="+at)
			}
			r := s.claude(s.client, "stream")
			if n := strings.Count(r.Stdout, "event-"); n != events || r.Status != 0 {
				t.Errorf("%d of %d events arrived:\n%s", n, events, r.show())
			}
		})
	}
}

// The control of that: a proxy that collects an answer is caught by the same server.
func TestMetronome(t *testing.T) {
	var patient testing.T // what it complains of is not this test's failure
	h := metronome(&patient)
	rec := httptest.NewRecorder()
	done := make(chan bool)
	go func() {
		defer close(done)
		h(rec, httptest.NewRequest("POST", "/v1/messages", nil).WithContext(t.Context()))
	}()
	select {
	case <-done:
		t.Error("it sent everything to somebody who said nothing")
	case <-time.After(50 * time.Millisecond):
	}
}
