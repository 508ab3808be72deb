package broker

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/journal"
)

// An answer in which the credential could not be found does not come in: the parts of
// one, a WebSocket whose frames are compressed, another protocol.
func TestHiddenAnswers(t *testing.T) {
	const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
	for name, c := range map[string]struct {
		ask, answer string
		status      int
	}{
		"WebSocket":                  {upgrade, "101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", 101},
		"WebSocket, compressed":      {upgrade, "101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n", 502},
		"WebSocket, other extension": {upgrade, "101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nsec-websocket-extensions: x\r\n", 502},
		"other protocol":             {upgrade, "101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n", 502},
		"asked for other protocol":   {"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n", "200 OK\r\nContent-Length: 2\r\n\r\nok", 403},
		"part":                       {"Range: bytes=0-9\r\nIf-Range: x\r\n", "206 Partial Content\r\nContent-Range: bytes 0-9/20\r\nContent-Length: 2\r\n\r\nok", 502},
		"whole for part":             {"Range: bytes=0-9\r\n", "200 OK\r\nContent-Length: 2\r\n\r\nok", 200},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for _, field := range []string{"Range", "If-Range", "Sec-Websocket-Extensions"} {
					if v := r.Header.Get(field); v != "" {
						t.Errorf("%s: %s left", field, v)
					}
				}
				conn, rw, err := w.(http.Hijacker).Hijack()
				if err != nil {
					return
				}
				defer conn.Close()
				fmt.Fprintf(rw, "HTTP/1.1 %s\r\n", strings.TrimSuffix(c.answer, "\r\n"))
				if strings.HasPrefix(c.answer, "101") {
					fmt.Fprint(rw, "\r\n")
				}
				rw.Flush()
				io.Copy(io.Discard, conn)
			}))
			t.Cleanup(server.Close)
			server.EnableHTTP2 = true
			w := newWire(Direct, nil)
			if strings.HasPrefix(c.answer, "101") { // what is to change its protocol goes by HTTP/1, also where the server speaks both
				server.StartTLS()
				w.t.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
				w.old.TLSClientConfig = w.t.TLSClientConfig.Clone()
			} else {
				server.Start()
			}
			u, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			svc, err := serviceapi.New(serviceapi.Config{Kind: serviceapi.Bearer, Host: u.Host, Allow: []string{"WEBSOCKET /x", "GET /x"}})
			if err != nil {
				t.Fatal(err)
			}
			s := Service{Service: svc, Kind: serviceapi.Bearer, Name: "test", Upstream: u, Phantom: "phantom-phantom-phantom", Source: fixed{genuine},
				Transport: w, Record: func(journal.Record) error { return nil }}
			_, at, _ := stand(t, nil, []Site{{Prefix: "/service", Handler: s.Handler()}})
			conn, err := net.Dial("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "GET /service/x HTTP/1.1\r\nHost: 127.0.0.1:809\r\nAuthorization: Bearer phantom-phantom-phantom\r\n%s\r\n", c.ask)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || resp.StatusCode != c.status {
				t.Errorf("%v %+v", err, resp)
			}
		})
	}
}

// Fields that would hide an answer from the search, or that tell a server who somebody
// before it has seen, do not go on.
func TestFieldsThatStay(t *testing.T) {
	for name, want := range map[string]bool{"Accept": true, "Content-Type": true, "X-Github-Api-Version": true, "Accept-Encoding": false, "Accept-Charset": false, "A-Im": false,
		"Range": false, "X-Forwarded-Host": false, "X-Forwarded-User": false, "X_forwarded_user": false, "X-Webauth-User": false, "Remote-User": false,
		"Remote_user": false, "X_Real_IP": false, "Accept_encoding": false, "Accept_charset": false, "If_range": false, "X_forwarded": true} {
		if passes(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
