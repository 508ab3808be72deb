package netattack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/netattack/probe"
	"ringfence.dev/ringfence/test/stage"
)

// discreet (PX-058): the record holds who went where. It holds no path, no field and no
// body, and nothing of it acts on the terminal of who reads it.
func discreet(t *testing.T, sum *summary) {
	sum.add(&row{id: "PX-058"})
	w := begin(t)
	const secret = "TOPSECRET"
	raw := fmt.Sprintf("GET http://allowed.test/%[1]s?q=%[1]s HTTP/1.1\r\nHost: allowed.test\r\nAuthorization: Bearer %[1]s\r\nCookie: %[1]s\r\nUser-Agent: %[1]s\r\nContent-Length: 9\r\n\r\n%[1]s", secret)
	direct := strings.Replace(raw, "http://allowed.test/", "/", 1)
	denied := strings.Replace(raw, "http://allowed.test/", "http://denied.test/", 1)
	list := []probe.Probe{
		talk(probe.Proxy4, 0, "origin ", probe.Say(raw)), talk("allowed.test:80", 4, "origin ", probe.Say(direct)), talk(probe.Proxy4, 0, "", probe.Step{Send: []byte(denied), Shut: true}),
		talk("allowed.test:80", 4, "", probe.Step{Send: []byte(strings.Replace(direct, "Host: allowed.test", "Host: denied.test", 1)), Shut: true}),
	}
	for _, evil := range []string{"\x1b[2Jx.test", "x.test\r\n{\"v\":1,\"verdict\":\"allow\"}", "x.test\"", "x\u202etset.test", "x.test\x00", "\x9b31mx.test", "x\ny.test"} {
		list = append(list,
			talk(probe.Proxy4, 0, "", probe.Step{Send: []byte("CONNECT " + evil + ":443 HTTP/1.1\r\nHost: " + evil + "\r\n\r\n"), Shut: true}),
			talk(probe.Proxy4, 0, "", probe.Step{Send: []byte{5, 1, 0}, Until: "\x05\x00"}, probe.Step{Send: socksName(evil, 443), Shut: true}),
			talk("allowed.test:80", 4, "", probe.Step{Send: []byte("GET / HTTP/1.1\r\nHost: " + evil + "\r\n\r\n"), Shut: true}),
			talk("allowed.test:443", 4, "", probe.Step{Send: hello{names: []string{evil}}.record(), Shut: true}))
	}
	// A program can call itself anything.
	list = append(list, probe.Probe{Command: []string{"bash", "-c", "exec -a $'\\e[2Jcurl\\nx' curl -sS -m5 http://denied.test/"}})
	evilName := "pro\x1b[2Jgram\nx"
	list = append(list, probe.Probe{Command: []string{"bash", "-c", fmt.Sprintf("cp /usr/bin/curl ./%[1]s && ./%[1]s -sS -m5 http://%[2]s/", "$'pro\\e[2Jgram\\nx'", denied4)}})
	for i := range list {
		list[i].ID = fmt.Sprint(i)
	}
	got, r := try(t, w, base, list)
	for i := range 2 {
		if a := got[fmt.Sprint(i)]; !a.Done {
			t.Errorf("request %d did not pass: %s", i, show(a))
		}
	}
	if len(r.Journal) < len(list) {
		t.Errorf("%d records of %d attempts", len(r.Journal), len(list))
	}
	for _, path := range journals(w) {
		clean(t, path, readLog(t, path), secret, evilName)
	}
	clean(t, "what ringfence says", r.Stdout+r.Stderr, secret, evilName)
	for _, args := range [][]string{{"log"}, {"log", "--denied"}, {"log", "--json"}} {
		out := w.Bare(slices.Concat([]string{stage.Ringfence}, args)...)
		if out.Status != 0 || out.Stdout == "" {
			t.Errorf("%q: %+v", args, out)
		}
		clean(t, strings.Join(args, " "), out.Stdout+out.Stderr, secret, evilName)
	}
}

func clean(t *testing.T, what, text string, bad ...string) {
	t.Helper()
	for _, b := range bad {
		if strings.Contains(text, b) {
			t.Errorf("%s holds %q", what, b)
		}
	}
	for i, c := range []byte(text) {
		if c != '\n' && c != '\t' && (c < ' ' || c == 0x7f) {
			t.Errorf("%s holds the byte %#02x: %.80q", what, c, text[max(0, i-40):])
			return
		}
	}
	if strings.ContainsAny(text, "\u202e\u009b") {
		t.Errorf("%s holds a character that acts on a terminal", what)
	}
}
