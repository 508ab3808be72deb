package netattack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/netattack/probe"
)

// retryMark is the middle of the HelloRetryRequest that our server sends: cipher suite,
// compression, length of the extensions.
const retryMark = "\x13\x01\x00\x00\x0c"

// retryName is a host whose server wants to be greeted again.
const retryName, retryAt = "retry.wild.test", "203.0.113.42:8443"

// greeting is what a client says when it is asked to say hello again. MARK in it
// becomes a mark of its own, by which the server is seen to have got it.
type greeting struct {
	what, want string
	bytes      []byte
}

func greetings() []greeting {
	cipher, early := []byte{20, 3, 3, 0, 1, 1}, []byte("\x17\x03\x03\x00\x05early")
	same, other := hello{mark: "MARK", names: []string{retryName}}, hello{mark: "MARK", names: []string{"denied.test"}}
	return []greeting{
		{"the same name", works, same.record()},
		{"the same name after a cipher", works, slices.Concat(cipher, same.record())},
		{"the same name after early data", works, slices.Concat(early, same.record())},
		{"the same name in pieces", works, same.records(40)},
		{"another name", closed, other.record()},
		{"another name after a cipher", closed, slices.Concat(cipher, other.record())},
		{"another name after early data", closed, slices.Concat(early, other.record())},
		{"another name in pieces", closed, other.records(40)},
		{"no name", closed, hello{mark: "MARK"}.record()},
		{"the same name and another hello", closed, record(slices.Concat(same.message(), other.message()))},
		{"something else", closed, []byte("GET /MARK HTTP/1.1\r\n\r\n")},
	}
}

// secondHello (PX-053): a server that wants to be greeted again must be greeted by the
// same name again.
func secondHello(t *testing.T, sum *summary) {
	sum.add(&row{id: "PX-053", family: "4"})
	w := begin(t)
	w.Answer(retryName, []string{"203.0.113.42"})
	log := serve(t, w, "retry", retryAt)
	var list []probe.Probe
	marks, want := map[string]string{}, map[string]bool{}
	for _, g := range greetings() {
		for _, way := range []string{"tcp", "connect"} {
			mark := fmt.Sprintf("m%03d", len(marks))
			again := probe.Step{Send: []byte(strings.ReplaceAll(string(g.bytes), "MARK", mark))}
			steps := []probe.Step{{Send: hello{names: []string{retryName}}.record(), Until: retryMark}, again}
			p := talk(retryName+":8443", 4, "again", steps...)
			if way == "connect" {
				p = tunnel(connectTo(retryName+":8443"), "again", steps...)
			}
			p.ID = way + " " + g.what
			list = append(list, p)
			marks[p.ID], want[p.ID] = mark, g.want == works
		}
	}
	got, r := try(t, w, slices.Concat(base, []string{"--allow-host", "https://" + retryName + ":8443"}), list)
	heard := readLog(t, log)
	for id, mark := range marks {
		if open := strings.Contains(heard, mark); open != want[id] {
			t.Errorf("%s: reached the server %v, want %v: %s", id, open, want[id], show(got[id]))
		}
	}
	if s := (&seen{records: r.Journal}); !s.has("deny", "tcp "+retryName+":8443") || !s.has("deny", "connect "+retryName+":8443") {
		t.Error("the journal has no word of it")
	}
	outside(t, w, list)
}
