package broker

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
)

// left counts the records of requests that left with a credential.
func left(records []journal.Record) (n int) {
	for _, j := range records {
		if j.Kind == journal.Broker && j.Event == journal.Use && j.Verdict == journal.Allow && j.Secret != "" && j.Method != "" {
			n += max(j.Count, 1)
		}
	}
	return n
}

// carrying counts the requests that reached vendors with one of these texts on them.
func carrying(texts []string, vendors ...*vendor) (n int) {
	for _, v := range vendors {
		for _, q := range v.requests() {
			_, word, _ := basicOf(q)
			text := q.text() + word
			for _, c := range texts {
				if strings.Contains(text, c) {
					n++
					break
				}
			}
		}
	}
	return n
}

// What reaches the forge with its token is in the journal, request by request: lists of
// refs, fetches, what is asked to judge a push, the push, the API; however the forge
// answers.
func TestRecordsOfForge(t *testing.T) {
	s := begin(t)
	f := s.forge()
	f.api = forgeAPI
	s.checkout(f)
	s.keepToken()
	r := s.ringfence("run", "--", "sh", "-xc", `
		git fetch -q origin
		git clone -q https://`+forgeName+`/`+publicRepo+` $HOME/public
		git checkout -q -b topic origin/main
		echo x > x && git add x && `+as+`commit -q -m x
		git push -q origin topic
		git push -q origin HEAD:main
		git ls-remote https://`+forgeName+`/alice/nothing.git
		curl -sS -o /dev/null -H "Authorization: token $GH_ENTERPRISE_TOKEN" https://`+forgeName+`/api/v3/user
		curl -sS -o /dev/null -H "Authorization: token $GH_ENTERPRISE_TOKEN" -X DELETE https://`+forgeName+`/api/v3/user`)
	want := carrying([]string{forgeToken}, f.vendor)
	if got := left(r.Journal); got != want || want < 8 {
		t.Errorf("%d requests reached the forge with the token, %d are in the journal\n%s", want, got, r.show())
	}
	s.silent(r, forgeToken)
}

// The end of a session counts what the broker sent for it, by host, and so does the
// journal: nobody reads that nothing went out.
func TestBrokeredBytes(t *testing.T) {
	s := begin(t)
	v, at := s.local(nil)
	s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey, "ANTHROPIC_BASE_URL="+at)
	const size = 100_000
	body := strings.Replace(hello, "hello", strings.Repeat("x", size), 1)
	r := s.ringfence(append([]string{"claude", "--verbose", "--"}, s.calls(
		ask("long", "/v1/messages", body), ask("short", "/v1/messages", hello), ask("refused", "/v1/files", hello))...)...)
	if n := len(v.requests()); n != 2 {
		t.Fatalf("%d requests\n%s", n, r.show())
	}
	var ends int
	var sent, received int64
	for _, j := range r.Journal {
		if j.Kind == journal.Broker && j.Event == journal.End && j.Name == "127.0.0.1" {
			ends, sent, received = ends+1, sent+j.Sent, received+j.Received
		}
	}
	if ends != 2 || sent < size || sent > size+4096 || received != int64(2*len("ok")) {
		t.Errorf("%d requests, %d sent, %d received\n%s", ends, sent, received, r.show())
	}
	if !strings.Contains(r.Stderr, " 127.0.0.1 by the broker, 2 requests, ") || !strings.Contains(r.Stderr, "  network    1 host, ") {
		t.Errorf("the end says:\n%s", r.Stderr)
	}
}

// A login that is renewed: the request that was refused, the renewal and the request
// that is sent again are three records.
func TestRecordsOfLogin(t *testing.T) {
	s := begin(t)
	a := s.account()
	h := s.hold("claude", "--", "sh")
	a.mu.Lock()
	a.access, _ = a.tokens(900)
	a.mu.Unlock()
	for range 3 {
		if got := h.say(postAsLogin); got != "ok 200" {
			t.Errorf("got %q", got)
		}
	}
	h.end()
	want := carrying([]string{"CANARYaccess", "CANARYrefresh"}, a.model, a.renew)
	if got := left(s.Journal()); got != want || want != 5 {
		t.Errorf("%d requests left with a token, %d are in the journal", want, got)
	}
}

// A program that tells a secret runs once, however often the host refuses what it told,
// and each request is in the journal.
func TestRecordsOfRefusals(t *testing.T) {
	s := begin(t)
	const secret = "CANARYsecretOfThePrivateHost"
	runs := filepath.Join(s.State, "runs")
	tool := s.write(filepath.Join(s.State, "tool"), "#!/bin/sh\necho run >> "+runs+"\necho "+secret+"$(wc -l < "+runs+")\n", 0o755)
	var n atomic.Int32
	v := s.vendor(privateOne, privateAt, func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) % 4 {
		case 0:
			panic(http.ErrAbortHandler) // resets the stream
		case 1:
			http.Error(w, "no", http.StatusTooManyRequests)
		case 2:
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		default:
			http.Error(w, "no", http.StatusUnauthorized)
		}
	})
	s.policy(fmt.Sprintf("[secret.other]\nuse = \"bearer\"\nhosts = [%q]\nfrom = \"command\"\ncommand = [%q]\nallow = [\"* /**\"]\n", privateOne, tool))
	r := s.ringfence("run", "--", "sh", "-c", `
		for n in 1 2 3 4 5 6 7 8; do
			curl -sS -o /dev/null https://`+privateOne+`/x
			curl -sS -o /dev/null -d body https://`+privateOne+`/x
			curl -sS -o /dev/null -H 'Transfer-Encoding: chunked' -H 'Trailer: X-Late' -T - https://`+privateOne+`/x < /dev/null
		done`)
	want := carrying([]string{secret}, v)
	if got := left(r.Journal); got != want || want < 24 || want > 48 {
		t.Errorf("%d requests left with the secret, %d are in the journal\n%s", want, got, r.show())
	}
	b, err := os.ReadFile(runs)
	if got := strings.Count(string(b), "run"); err != nil || got != 1 {
		t.Errorf("the program ran %d times: %v", got, err)
	}
	s.silent(r, secret)
}
