package engine

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/work"
	"ringfence.dev/ringfence/test/world"
)

// plugins is where an engine finds those that judge its requests.
const plugins = "/run/docker/plugins"

// servePlugin is an authorization plugin of the engine with the rules of the house. It
// counts what it was asked.
func servePlugin(t *testing.T, name string) *atomic.Int64 {
	t.Helper()
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", plugins+"/"+name+".sock")
	if err != nil {
		t.Fatal(err)
	}
	asked := &atomic.Int64{}
	answer := func(w http.ResponseWriter, v map[string]any) {
		w.Header().Set("Content-Type", "application/vnd.docker.plugins.v1.2+json")
		json.NewEncoder(w).Encode(v)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/Plugin.Activate":
			answer(w, map[string]any{"Implements": []string{"authz"}})
		case "/AuthZPlugin.AuthZReq":
			var q struct {
				RequestURI  string `json:"RequestUri"`
				RequestBody []byte
			}
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
				t.Error(err)
			}
			asked.Add(1)
			why := ""
			if strings.Contains(q.RequestURI, "/containers/create") {
				why = houseRules(t, q.RequestBody)
			}
			answer(w, map[string]any{"Allow": why == "", "Msg": why})
		default:
			answer(w, map[string]any{"Allow": true})
		}
	})}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return asked
}

// settle gives the engine settings, and returns when it follows them.
func settle(f *work.Fixture, settings string, follows func() bool) {
	t := f.T
	t.Helper()
	b, err := os.ReadFile(own + "/pid")
	pid, err2 := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if err := os.WriteFile(own+"/daemon.json", []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	f.Eventually("the engine's new settings", follows)
}

// TestPlugin: an engine with a real authorization plugin that forbids unconfined containers.
func TestPlugin(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("who is not root cannot set up an engine")
	}
	const name = "house-rules"
	asked := servePlugin(t, name)
	asks := func() bool {
		before := asked.Load()
		docker(t, "version")
		return asked.Load() > before
	}
	docker(t, "version") // before it answers, a signal ends it
	f := newFixture(t)
	settle(f, `{"authorization-plugins": ["`+name+`"]}`, asks)
	t.Cleanup(func() { settle(f, "{}", func() bool { return !asks() }) })
	r := f.On("echo ran", "--net", "none")
	if r.Status != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, "no unconfined containers here") || !strings.Contains(r.Stderr, `container = "confined"`) {
		t.Errorf("the usual container: status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	f.Policy(policy + confined)
	r = f.On("echo ran", "--allow-host", world.Allowed)
	if r.Status != 0 || r.Stdout != "ran\n" {
		t.Errorf("the confined one: status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
}
