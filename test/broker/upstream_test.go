package broker

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ringfence.dev/ringfence/test/broker/client/call"
)

// An upstream that says 401 is asked once more with what the source has then, and no
// more often: here a file that was changed meanwhile, as by a person who renewed a key.
func TestModelStaleKey(t *testing.T) {
	const fresh = "sk-ant-api03-CANARYrenewedKeyOfTheHost-0123456789-renewedAA"
	for _, renewed := range []bool{true, false} {
		t.Run(map[bool]string{true: "renewed", false: "not renewed"}[renewed], func(t *testing.T) {
			s := begin(t)
			key := filepath.Join(s.State, "key")
			v, at := s.local(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Api-Key") == fresh {
					io.WriteString(w, "ok")
					return
				}
				if renewed {
					s.write(key, fresh+"\n", 0o600)
				}
				http.Error(w, `{"type":"error"}`, http.StatusUnauthorized)
			})
			s.write(key, realKey+"\n", 0o600)
			at = strings.Replace(at, "127.0.0.1", "localhost", 1)
			s.policy("[secret.mine]\nuse = \"anthropic\"\nhosts = [\"" + at + "\"]\nfrom = \"file:" + key + "\"\n")
			got, r := s.asked(ask("one", "/v1/messages", hello))
			a, n := got["one"], len(v.requests())
			if renewed && (a.Status != 200 || a.Body != "ok" || n != 2) {
				t.Errorf("%+v after %d requests\n%s", a, n, r.show())
			}
			if !renewed && (a.Status != 401 || n != 1) {
				t.Errorf("%+v after %d requests: a key that did not change is not tried again\n%s", a, n, r.show())
			}
			for _, q := range v.requests() {
				if string(q.Body) != hello {
					t.Errorf("the body was %q", q.Body)
				}
			}
			s.silent(r, realKey, fresh)
		})
	}
}

// Bodies that are long or come slowly arrive whole; what is beyond all measure gets an
// answer that says so and costs nobody anything.
func TestModelBodies(t *testing.T) {
	s := begin(t)
	const long = 8 << 20
	v, at := s.local(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey, "ANTHROPIC_BASE_URL="+at)
	padded := `{"model":"m","messages":[{"role":"user","content":"@PAD@"}]}`
	sized := func(name string, n int) call.Call { c := ask(name, "/v1/messages", padded); c.Pad = n; return c }
	slow := sized("slow", 3000)
	slow.Slow = true
	got, r := s.asked(sized("long", long), slow, sized("too long", 33<<20), ask("after", "/v1/messages", hello))
	for name, want := range map[string]int{"long": long, "slow": 3000, "after": 0} {
		text := strings.Replace(padded, "@PAD@", strings.Repeat("x", want), 1)
		if want == 0 {
			text = hello
		}
		if a := got[name]; a.Status != 200 || a.Body != text {
			t.Errorf("%s: status %d, %d bytes of %d, %s", name, a.Status, len(a.Body), len(text), a.Err)
		}
	}
	if a := got["too long"]; a.Status < 400 && a.Err == "" {
		t.Errorf("33 MB: %d %q %q", a.Status, a.Body[:min(len(a.Body), 200)], a.Err)
	}
	if n := len(v.requests()); n != 3 {
		t.Errorf("upstream got %d requests\n%s", n, r.show())
	}
}

// An upstream that is not there, that breaks off, or that speaks nonsense: one clear
// answer in the vendor's form.
func TestModelUpstreamGone(t *testing.T) {
	s := begin(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	l.Close()
	var tries atomic.Int32
	hangup, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hangup.Close()
	go func() {
		for {
			c, err := hangup.Accept()
			if err != nil {
				return
			}
			tries.Add(1)
			c.Read(make([]byte, 1024))
			c.Close()
		}
	}()
	_, midway := s.local(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey)
	base := s.env
	s.Answer("strange.test", []string{"203.0.113.202"})
	serve(t, listen(t, "203.0.113.202:443"), true, nil) // its certificate is not trusted where the bundle is left out
	ways := map[string]string{"nobody": nobody, "hangs up": "http://" + hangup.Addr().String(), "midway": midway,
		"no such name": "https://gateway.nowhere.test", "not trusted": "https://strange.test"}
	for name, at := range ways {
		s.env = append(base[:len(base):len(base)], "ANTHROPIC_BASE_URL="+at)
		if name == "not trusted" {
			s.env = append(s.env, "SSL_CERT_FILE="+s.CA)
		}
		got, r := s.asked(ask("one", "/v1/messages", hello))
		a := got["one"]
		if name == "midway" {
			if a.Err == "" {
				t.Errorf("an answer that broke off looks whole: %+v", a)
			}
		} else if a.Status != http.StatusBadGateway || !strings.Contains(a.Body, "ringfence: ") || !strings.Contains(a.Body, `"type":"error"`) {
			t.Errorf("%s: %+v\n%s", name, a, r.show())
		}
		if _, where, _ := strings.Cut(at, "://"); strings.Contains(a.Body, where) {
			t.Errorf("%s: the answer tells where the upstream is: %s", name, a.Body)
		}
		s.silent(r, realKey)
	}
	// With no credential at all there is one sentence, and nobody is asked.
	v, at := s.local(nil)
	s.env = append([]string{}, base[:len(base)-1]...)
	s.env = append(s.env, "ANTHROPIC_BASE_URL="+at)
	got, r := s.asked(ask("one", "/v1/messages", hello))
	if a := got["one"]; a.Status != 401 || !strings.Contains(a.Body, "/login") || len(v.requests()) != 0 {
		t.Errorf("no credential: %+v\n%s", a, r.show())
	}
	if !strings.Contains(r.Stderr, "/login") {
		t.Errorf("the user is not told: %s", r.Stderr)
	}
}
