package broker

import (
	"bufio"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A connection to a brokered host may change its protocol, as WebSocket does. What the
// server says then is searched for the credential as any answer is.
func TestUpgrade(t *testing.T) {
	need(t, "python3")
	s := begin(t)
	const secret = "CANARYsecretOfThePrivateHost0123"
	s.write(filepath.Join(s.State, "other"), secret, 0o600)
	table := "[secret.other]\nuse = \"bearer\"\nhosts = [\"" + privateOne + "\"]\nfrom = \"file:" + s.State + "/other\"\n"
	v := s.vendor(privateOne, privateAt, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret || r.Header.Get("Upgrade") != "websocket" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		rw.Flush()
		lines := bufio.NewScanner(rw)
		for lines.Scan() { // one at a time: nobody in between may wait for more
			fmt.Fprintf(rw, "heard %s, you are %s.\n", lines.Text()[6:], secret)
			rw.Flush()
		}
	})
	s.Put("talk.py", []byte(`
import socket, ssl
c = ssl.create_default_context().wrap_socket(socket.create_connection(("`+privateOne+`", 443)), server_hostname="`+privateOne+`")
f = c.makefile("rwb")
def say(text): f.write(text.encode()); f.flush()
say("GET /ws HTTP/1.1\r\nHost: `+privateOne+`\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n")
while True:
    line = f.readline(); print(line.decode().strip())
    if line in (b"\r\n", b""): break
for n in range(3):
    word = b"word %d\n" % n
    f.write(bytes([0x81, 0x80 | len(word), 0, 0, 0, 0]) + word); f.flush(); print(f.readline().decode().strip())
`), 0o644)
	s.policy(table + "allow = [\"* /**\"]\n")
	if r := s.ringfence("run", "--", "python3", "talk.py"); !strings.Contains(r.Stdout, "403") || len(v.requests()) != 0 {
		t.Errorf("it passes although no rule says so: %s", r.show())
	}
	s.policy(table + "allow = [\"WEBSOCKET /ws\"]\n")
	r := s.ringfence("run", "--", "python3", "talk.py")
	if !strings.Contains(r.Stdout, "101 Switching") || strings.Count(r.Stdout, "heard word") != 3 {
		t.Errorf("it does not pass: %s", r.show())
	}
	s.silent(r, secret)
}
