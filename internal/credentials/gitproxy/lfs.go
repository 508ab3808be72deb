package gitproxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	lfsType    = "application/vnd.git-lfs+json"
	maxJSON    = 8 << 20
	maxObjects = 1000
	maxVerify  = 64 << 10
)

// batch is a client's question where objects are, or are to go.
type batch struct {
	Operation string     `json:"operation"`
	Transfers []string   `json:"transfers"`
	Ref       *batchRef  `json:"ref,omitempty"`
	Objects   []batchOID `json:"objects"`
	HashAlgo  string     `json:"hash_algo,omitempty"`
}

type batchRef struct {
	Name string `json:"name"`
}

type batchOID struct {
	OID  string `json:"oid"`
	Size int64  `json:"size"`
}

// answer is the forge's answer to a batch, as far as a client needs it.
type answer struct {
	Transfer string         `json:"transfer,omitempty"`
	HashAlgo string         `json:"hash_algo,omitempty"`
	Objects  []answerObject `json:"objects"`
}

type answerObject struct {
	OID           string            `json:"oid"`
	Size          int64             `json:"size"`
	Authenticated bool              `json:"authenticated"`
	Actions       map[string]action `json:"actions,omitempty"`
	Error         *answerError      `json:"error,omitempty"`
}

type answerError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type action struct {
	Href      string            `json:"href"`
	Header    map[string]string `json:"header,omitempty"`
	ExpiresIn int64             `json:"expires_in,omitempty"`
	ExpiresAt *time.Time        `json:"expires_at,omitempty"`
}

// methods are how the actions that there are go.
var methods = map[string]string{"download": http.MethodGet, "upload": http.MethodPut, "verify": http.MethodPost}

var sha256Name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// readBatch reads a batch. It is written anew for the forge, so what is not read
// here does not get there.
func readBatch(r io.Reader) (*batch, error) {
	var b batch
	d := json.NewDecoder(io.LimitReader(r, maxJSON))
	if err := d.Decode(&b); err != nil {
		return nil, fmt.Errorf("the LFS request is not understood: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("the LFS request has something behind it")
	}
	if b.Operation != "download" && b.Operation != "upload" {
		return nil, fmt.Errorf("the LFS operation %.20q is not known", b.Operation)
	}
	if b.HashAlgo != "" && b.HashAlgo != "sha256" {
		return nil, fmt.Errorf("the LFS hash %.20q is not known", b.HashAlgo)
	}
	if b.Ref != nil && !goodRef(b.Ref.Name) {
		return nil, fmt.Errorf("%.100q is no name of a ref", b.Ref.Name)
	}
	if len(b.Objects) > maxObjects {
		return nil, fmt.Errorf("the LFS request has more than %d objects", maxObjects)
	}
	for _, o := range b.Objects {
		if !sha256Name().MatchString(o.OID) || o.Size < 0 {
			return nil, fmt.Errorf("%.100q is no LFS object", o.OID)
		}
	}
	b.Transfers = []string{"basic"} // the one that goes through us
	return &b, nil
}

// serveBatch asks the forge where objects are, and gives the client places of
// ours instead.
func (f *Forge) serveBatch(w http.ResponseWriter, r *http.Request, a access) {
	b, err := readBatch(r.Body)
	if err != nil {
		f.fail(w, a, deny(http.StatusUnprocessableEntity, "%v", err), err.Error())
		return
	}
	a.service = "lfs-" + b.Operation
	if b.Operation == "upload" && a.anonymous {
		no := f.other("uploads to")
		f.fail(w, a, no, no.text)
		return
	}
	resp, err := f.sendJSON(r, a, b)
	if err != nil {
		f.fail(w, a, f.unreachable(), err.Error())
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		f.passJSON(w, a, resp)
		return
	}
	var got answer
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxJSON)).Decode(&got); err != nil || len(got.Objects) > maxObjects {
		f.fail(w, a, deny(http.StatusBadGateway, "%s answers LFS in a way that is not understood", f.host()), "LFS answer not understood")
		return
	}
	if got.Transfer != "" && got.Transfer != "basic" {
		f.fail(w, a, deny(http.StatusBadGateway, "%s wants LFS objects to go another way than \"basic\"", f.host()), "LFS transfer not basic")
		return
	}
	for i := range got.Objects {
		f.hide(&got.Objects[i], a)
	}
	f.record(Event{Repo: a.repo, Service: a.service, Anonymous: a.anonymous})
	w.Header().Set("Content-Type", lfsType)
	_ = json.NewEncoder(w).Encode(got) // whoever has gone is not told
}

func (f *Forge) sendJSON(r *http.Request, a access, v any) (*http.Response, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write LFS request: %w", err)
	}
	return f.send(r.Context(), a, message{method: http.MethodPost, path: a.path, kind: lfsType, accept: lfsType,
		body: strings.NewReader(string(body)), length: int64(len(body))})
}

// hide replaces the places of an object, and the credentials that go with them,
// by tickets.
func (f *Forge) hide(o *answerObject, a access) {
	o.Authenticated = true // or git-lfs would look for a credential
	if o.Error != nil {
		o.Error.Message = clean(o.Error.Message)
	}
	out := map[string]action{}
	for name, act := range o.Actions {
		t, err := f.ticket(name, act, o, a)
		if err != nil {
			o.Actions, o.Error = nil, &answerError{http.StatusForbidden, "ringfence: " + err.Error()}
			return
		}
		out[name] = action{Href: f.Self + "/lfs/" + f.tickets.add(t, f.now()), ExpiresIn: int64(t.until.Sub(f.now()).Seconds())}
	}
	o.Actions = out
}

// ticket remembers how an action goes.
func (f *Forge) ticket(name string, act action, o *answerObject, a access) (ticket, error) {
	t := ticket{method: methods[name], header: http.Header{}, size: o.Size, access: a, until: f.now().Add(ticketTTL)}
	u, err := url.Parse(act.Href)
	if t.method == "" || err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != f.upstream.Scheme {
		return t, fmt.Errorf("%s names a place for the object that is not understood", f.host())
	}
	if t.url = u; u.Host != f.upstream.Host || u.Scheme != f.upstream.Scheme {
		if t.transport = f.Storage; t.transport == nil {
			return t, fmt.Errorf("%s keeps the object at %s, and that is denied", f.host(), clean(u.Host))
		}
	}
	for key, value := range act.Header {
		switch key = http.CanonicalHeaderKey(key); key {
		case "Host", "Connection", "Content-Length", "Transfer-Encoding", "Te", "Upgrade", "Trailer", "Range", "If-Range":
		default:
			t.header.Set(key, value)
		}
	}
	until := t.until
	if act.ExpiresIn > 0 && act.ExpiresIn < int64(ticketTTL/time.Second) {
		until = f.now().Add(time.Duration(act.ExpiresIn) * time.Second)
	} else if act.ExpiresAt != nil && !act.ExpiresAt.IsZero() && act.ExpiresAt.Before(until) {
		until = *act.ExpiresAt
	}
	t.until = until
	return t, nil
}

// serveLocks passes on questions about locks, and locks where that is allowed.
func (f *Forge) serveLocks(w http.ResponseWriter, r *http.Request, a access) {
	if a.call == lfsLock && !f.allow[Locks] {
		no := deny(http.StatusForbidden, "taking and dropping LFS locks is denied; %s", allows(Locks))
		f.fail(w, a, no, no.text)
		return
	}
	m := message{method: r.Method, path: a.path, query: a.query, accept: lfsType}
	if r.Method == http.MethodPost {
		var body map[string]any
		d := json.NewDecoder(io.LimitReader(r.Body, maxVerify))
		if err := d.Decode(&body); err != nil {
			f.fail(w, a, deny(http.StatusUnprocessableEntity, "the LFS request is not understood"), err.Error())
			return
		}
		b, err := json.Marshal(body)
		if err != nil {
			f.fail(w, a, deny(http.StatusUnprocessableEntity, "the LFS request is not understood"), err.Error())
			return
		}
		m.kind, m.body, m.length = lfsType, strings.NewReader(string(b)), int64(len(b))
	}
	resp, err := f.send(r.Context(), a, m)
	if err != nil {
		f.fail(w, a, f.unreachable(), err.Error())
		return
	}
	defer resp.Body.Close()
	f.passJSON(w, a, resp)
}

// passJSON hands an answer on that has nothing to hide. A server that asks for a
// credential gets none from the client.
func (f *Forge) passJSON(w http.ResponseWriter, a access, resp *http.Response) {
	status := resp.StatusCode
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if status/100 == 3 || status == http.StatusUnauthorized || kind != lfsType && kind != "application/json" {
		if status/100 == 2 || status/100 == 3 {
			status = http.StatusBadGateway
		} else if status == http.StatusUnauthorized {
			status = http.StatusForbidden
		}
		no := deny(status, "%s answers LFS with status %d for %s", f.host(), resp.StatusCode, a.repo)
		f.fail(w, a, no, no.text)
		return
	}
	f.record(Event{Repo: a.repo, Service: a.service, Anonymous: a.anonymous})
	w.Header().Set("Content-Type", lfsType)
	w.WriteHeader(status)
	if err := stream(w, io.LimitReader(resp.Body, maxJSON)); err != nil {
		panic(http.ErrAbortHandler)
	}
}
