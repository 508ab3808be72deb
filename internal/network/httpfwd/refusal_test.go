package httpfwd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/network/httpfwd"
)

var denial = httpfwd.Denial{
	Rule: "none", Reason: "no rule names it", Host: "denied.test", Port: 80,
	Ask: "ringfence grant s1 --host denied.test:80", Final: "This will not change.",
}

func TestRefusalText(t *testing.T) {
	want := "ringfence: denied: denied.test:80\nrule: none\nreason: no rule names it\n" +
		"to allow it, the user can run: ringfence grant s1 --host denied.test:80\nThis will not change.\n"
	resp, body := response(t, httpfwd.Refusal(403, "Forbidden", "*/*", denial))
	if resp.StatusCode != 403 || body != want || resp.Header.Get("X-Ringfence") != "denied" || !resp.Close ||
		resp.Header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("%+v\n%s", resp, body)
	}
	if _, body := response(t, httpfwd.Refusal(400, "Bad Request", "", httpfwd.Denial{})); body != "ringfence: denied\n" {
		t.Errorf("%q", body)
	}
}

func TestRefusalJSON(t *testing.T) {
	resp, body := response(t, httpfwd.Refusal(403, "Forbidden", "application/json", denial))
	var got httpfwd.Denial
	if err := json.Unmarshal([]byte(body), &got); err != nil || got != denial || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v, %+v, %s", err, got, body)
	}
}

func TestRefusalForm(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "text/plain": false, "application/*": false, "text/json": false, "json": false,
		"application/json": true, "Application/JSON": true, "application/vnd.x+json": true, "application/json, text/plain, */*": true,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": false,
		"text/plain, application/json;q=0.5":                              false,
		"text/plain;q=0.4, application/json;q=0.5":                        true,
		"application/json;q=0":                                            false,
		"application/json;q=0.000":                                        false,
		"application/json;q=0.001":                                        true,
		"application/json;q=x":                                            false,
		"application/json;q=2":                                            false,
		"application/json;charset=utf-8;q=1.000":                          true,
		"text/html;q=0.9\t,\tapplication/json ; Q=0.9":                    true,
	} {
		resp, _ := response(t, httpfwd.Refusal(403, "Forbidden", accept, denial))
		if got := resp.Header.Get("Content-Type") == "application/json"; got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}

// TestRefusalIsTame: whatever was refused, the refusal is printable, bounded and
// one response.
func TestRefusalIsTame(t *testing.T) {
	wild := "a\r\nSet-Cookie: x\r\n\r\n\x1b[2J\x00\u212a</script>\"" + strings.Repeat("b", 5000)
	for _, accept := range []string{"", "application/json"} {
		d := httpfwd.Denial{Rule: wild, Reason: wild, Host: wild, Port: 65535, Ask: wild, Final: wild}
		raw := httpfwd.Refusal(7, wild, accept, d)
		if len(raw) > 8<<10 || bytes.ContainsFunc(raw, func(r rune) bool { return r > '~' || r < ' ' && r != '\r' && r != '\n' }) {
			t.Errorf("%d bytes: %q", len(raw), raw)
		}
		resp, body := response(t, raw)
		if resp.StatusCode != 403 || resp.Header.Get("Set-Cookie") != "" || accept != "" && !json.Valid([]byte(body)) {
			t.Errorf("%+v %q", resp, body)
		}
	}
	if resp, _ := response(t, httpfwd.Refusal(502, wild, "", httpfwd.Denial{})); resp.StatusCode != 502 || resp.Header.Get("Set-Cookie") != "" {
		t.Errorf("%+v", resp)
	}
}

// response reads raw as net/http does, to its end.
func response(t *testing.T, raw []byte) (*http.Response, string) {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(raw))
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || int64(len(body)) != resp.ContentLength || r.Buffered() != 0 {
		t.Fatalf("%v, %d bytes of %d, %d left", err, len(body), resp.ContentLength, r.Buffered())
	}
	return resp, string(body)
}
