package mcp

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// supervisor echoes for the server "echo" and has no other.
func supervisor(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp/echo" || r.Header.Get("Upgrade") != Protocol {
			http.Error(w, "ringfence: there is none", http.StatusNotFound)
			return
		}
		c, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+Protocol+"\r\n\r\n")
		io.Copy(c, buf.Reader)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestClient(t *testing.T) {
	addr := supervisor(t)
	for _, tt := range []struct {
		args, in       string
		code           int
		stdout, stderr string
	}{
		{Client + " echo", "one\ntwo", 0, "one\ntwo", ""},
		{Client + " other", "", 1, "", "ringfence: MCP server other: there is none\n"},
		{Client + " ../x?y", "", 1, "", "ringfence: MCP server ../x?y: there is none\n"},
		{Client, "", 2, "", "usage: ringfence-mcp NAME\n"},
		{Client + " echo more", "", 2, "", "usage: ringfence-mcp NAME\n"},
	} {
		var stdout, stderr bytes.Buffer
		code := ClientMain(strings.Fields(tt.args), strings.NewReader(tt.in), &stdout, &stderr, addr)
		if code != tt.code || stdout.String() != tt.stdout || stderr.String() != tt.stderr {
			t.Errorf("%s: %d %q %q", tt.args, code, &stdout, &stderr)
		}
	}
	var stderr bytes.Buffer
	if code := ClientMain([]string{Client, "echo"}, nil, io.Discard, &stderr, "127.0.0.1:1"); code != 1 || !strings.Contains(stderr.String(), "cannot be reached") {
		t.Errorf("%d %q", code, &stderr)
	}
	if !IsClient("/x/"+Client) || IsClient("ringfence") || IsClient("") {
		t.Error("the name of the client")
	}
}
