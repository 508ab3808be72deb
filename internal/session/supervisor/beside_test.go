package supervisor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/mcp"
	"ringfence.dev/ringfence/internal/session/toolbox"
	"ringfence.dev/ringfence/test/wait"
)

// TestMain lets this program be the one that the supervisor starts of itself on the host: a
// server says again what it hears, a fetch leaves a file where it runs.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] + " " + os.Args[2] {
		case "mcp run":
			io.Copy(os.Stdout, os.Stdin)
			os.Exit(0)
		case "tools add":
			fetched(os.Args[len(os.Args)-1])
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func fetched(tool string) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	os.WriteFile("began", nil, 0o600)
	if strings.HasSuffix(tool, "slow") {
		<-told
		os.WriteFile("told", nil, 0o600)
	}
}

// lesses are the ways to have nothing of the network but the model, or not even that.
var lesses = map[string]Less{
	"none":    {Mode: "none", By: "test"},
	"scanner": {Mode: "locked", Alone: true, By: "test"},
}

// TestNothingIsFetchedAside: where the network was taken away, no tool is fetched on the host
// for the agent any more, and a fetch that runs is ended.
func TestNothingIsFetchedAside(t *testing.T) {
	for name, less := range lesses {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			s.policy("[tools]\nallow = [\"npm:quick\", \"npm:slow\"]\n")
			p, err := s.open()
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			l := p.runs()
			began := func() bool { return os.Remove(filepath.Join(s.dir, "began")) == nil }
			desk := httptest.NewServer(http.StripPrefix(toolbox.Prefix, &toolDesk{live: l, gate: p.door.gate}))
			defer desk.Close()
			get := func(tool string) string {
				ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
				defer cancel()
				r, _ := http.NewRequestWithContext(ctx, http.MethodPost, desk.URL+toolbox.Prefix+"/"+tool, nil)
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					return err.Error()
				}
				defer resp.Body.Close()
				b, _ := io.ReadAll(resp.Body)
				return string(b)
			}
			if said := get("npm:quick"); !began() {
				t.Fatalf("before: nothing is fetched: %s", said)
			}
			answer := make(chan string, 1)
			go func() { answer <- get("npm:slow") }()
			wait.Eventually(t, "the fetch runs", began)
			if _, err := l.Tighten(less); err != nil {
				t.Fatal(err)
			}
			wait.Eventually(t, "the fetch is told to end", func() bool {
				_, err := os.Stat(filepath.Join(s.dir, "told"))
				return err == nil
			})
			if said := <-answer; !strings.Contains(said, "taken away") {
				t.Errorf("who waited hears %q", said)
			}
			if said := get("npm:quick"); began() || !strings.Contains(said, "taken away") {
				t.Errorf("it is fetched still: %q", said)
			}
		})
	}
}

// TestServersEndWithTheNetwork: where the network was taken away, MCP servers end and none is
// started: they have hosts of their own.
func TestServersEndWithTheNetwork(t *testing.T) {
	for name, less := range lesses {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			p, err := s.open()
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			l := p.runs()
			l.mcp.Started, l.mcp.Agent = []string{"notes"}, "claude"
			way := httptest.NewServer(l.mcp.handler(p.door.gate))
			defer way.Close()
			c, status := connect(t, way.Listener.Addr().String())
			if status != http.StatusSwitchingProtocols {
				t.Fatalf("before: %d", status)
			}
			defer c.Close()
			heard := make([]byte, 6)
			io.WriteString(c, "hello\n")
			if _, err := io.ReadFull(c, heard); err != nil || string(heard) != "hello\n" {
				t.Fatalf("before: %q, %v", heard, err)
			}
			if _, err := l.Tighten(Less{Mode: "locked", By: "test"}); err != nil {
				t.Fatal(err)
			}
			io.WriteString(c, "again\n")
			if _, err := io.ReadFull(c, heard); err != nil { // a session that starts so has them
				t.Fatalf("locked: %v", err)
			}
			if _, err := l.Tighten(less); err != nil {
				t.Fatal(err)
			}
			if n, err := c.Read(heard); err == nil || os.IsTimeout(err) {
				t.Errorf("it goes on: %q, %v", heard[:n], err)
			}
			if c, status := connect(t, way.Listener.Addr().String()); status != http.StatusForbidden {
				t.Errorf("a new one: %d", status)
			} else {
				c.Close()
			}
		})
	}
}

// connect asks for a server as the client inside does.
func connect(t *testing.T, at string) (net.Conn, int) {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(wait.Patience))
	fmt.Fprintf(c, "GET /notes HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", mcp.Protocol)
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, resp.StatusCode
}
