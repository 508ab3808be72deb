package npm

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
)

// crowd counts the large documents that are read and not answered yet.
type crowd struct {
	mu       sync.Mutex
	now, max int
	want     int
	full     sync.Once
	all      chan struct{} // closed when so many are inside as were waited for
}

func (c *crowd) come() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now++; c.now > c.max {
		c.max = c.now
	}
	if c.now == c.want {
		c.full.Do(func() { close(c.all) })
	}
}

func (c *crowd) leave() {
	<-c.all // who answers first waits until as many are inside as can be
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
}

// packed is a packument of some megabytes. Its last part says that somebody is inside.
type packed struct {
	io.Reader
	crowd *crowd
	once  sync.Once
	left  int
}

func (p *packed) Read(b []byte) (int, error) {
	if p.left <= 64<<10 {
		p.once.Do(p.crowd.come)
	}
	n, err := p.Reader.Read(b[:min(len(b), 16<<10)])
	p.left -= n
	return n, err
}

func (p *packed) Close() error { return nil }

// written is an answer whose first byte says that somebody goes.
type written struct {
	*httptest.ResponseRecorder
	crowd *crowd
	once  sync.Once
}

func (w *written) Write(b []byte) (int, error) {
	w.once.Do(w.crowd.leave)
	return len(b), nil
}

type trips func(*http.Request) (*http.Response, error)

func (t trips) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// Of twelve that ask for large packuments at once, as many as there is room for have one
// in memory; where there is room for all, all have. The dates come by a second
// document, for which nobody waits twice.
func TestRoom(t *testing.T) {
	const clients = 12
	for _, places := range []int{2, clients} {
		c := &crowd{all: make(chan struct{}), want: places}
		trip := trips(func(r *http.Request) (*http.Response, error) {
			name := strings.TrimPrefix(r.URL.Path, "/")
			full := !strings.Contains(r.Header.Get("Accept"), abbreviated)
			body := fmt.Sprintf(`{"name":%q,"versions":{"1.0.0":{}},"time":{"1.0.0":"2020-01-01T00:00:00Z"},"readme":%q}`, name, strings.Repeat("x", upstream.Large+64<<10))
			if !full {
				body = strings.Replace(body, `"time"`, `"none"`, 1)
			}
			p := &packed{Reader: strings.NewReader(body), crowd: c, left: len(body)}
			if !full { // the second one of the same request
				p.once.Do(func() {})
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: p}, nil
		})
		d := &Door{Site: &upstream.Site{Base: &url.URL{Scheme: "https", Host: "r.test"}, Trip: trip}, Store: store.At(t.TempDir()), Room: upstream.NewRoom(places), Brake: rules()}
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				r := httptest.NewRequest("GET", fmt.Sprintf("https://r.test/lib%d", i), nil)
				r.Header.Set("Accept", abbreviated)
				w := &written{ResponseRecorder: httptest.NewRecorder(), crowd: c}
				d.ServeHTTP(w, r)
				if w.Code != 200 {
					t.Errorf("%d: %s", w.Code, w.Body)
				}
			})
		}
		all.Wait()
		if c.max != places || c.now != 0 {
			t.Errorf("%d places: %d at once, %d left", places, c.max, c.now)
		}
	}
}
