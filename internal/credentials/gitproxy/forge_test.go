package gitproxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/git/object"
)

// answers is a forge that answers each path in one way.
type answers map[string]func() (int, string, string) // status, type, body

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	say, ok := a[r.URL.Path]
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	status, kind, body := say()
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}, "Location": {kind}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func configured(t *testing.T, change ...func(*Config)) *Forge {
	t.Helper()
	c := Config{Upstream: "https://forge.test", Self: "http://127.0.0.1:809/git/forge.test", Transport: answers{}, Repos: []string{"alice/work"}, Spool: t.TempDir()}
	for _, f := range change {
		f(&c)
	}
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(*Config){
		`upstream "forge.test"`:            func(c *Config) { c.Upstream = "forge.test" },
		`upstream "https://forge.test/"`:   func(c *Config) { c.Upstream = "https://forge.test/" },
		`upstream "https://forge.test/x"`:  func(c *Config) { c.Upstream = "https://forge.test/x" },
		`upstream "ssh://forge.test"`:      func(c *Config) { c.Upstream = "ssh://forge.test" },
		`upstream "https://u@forge.test"`:  func(c *Config) { c.Upstream = "https://u@forge.test" },
		`self "http://127.0.0.1/git/"`:     func(c *Config) { c.Self = "http://127.0.0.1/git/" },
		`self "http://127.0.0.1/git?x"`:    func(c *Config) { c.Self = "http://127.0.0.1/git?x" },
		"no transport":                     func(c *Config) { c.Transport = nil },
		`repository "alice/work.git"`:      func(c *Config) { c.Repos = []string{"alice/work.git"} },
		`repository "alice/../carol/safe"`: func(c *Config) { c.Repos = []string{"alice/../carol/safe"} },
		`repository ""`:                    func(c *Config) { c.Repos = []string{""} },
		`no refusal is called "all"`:       func(c *Config) { c.Allow = []string{"all"} },
	} {
		c := Config{Upstream: "https://forge.test", Self: "http://127.0.0.1/git", Transport: answers{}, Repos: []string{"a/b"}}
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestInsteadOf(t *testing.T) {
	got := strings.Join(InsteadOf("http://127.0.0.1:809/git/forge.test", "forge.test"), "\n")
	for _, want := range []string{"[url \"http://127.0.0.1:809/git/forge.test/\"]", "\tinsteadOf = https://forge.test/", "\tinsteadOf = git@forge.test:", "\tinsteadOf = ssh://git@forge.test/"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestTicketsEnd(t *testing.T) {
	var s tickets
	now := time.Unix(1e9, 0)
	id := s.add(ticket{until: now.Add(time.Minute)}, now)
	if !isTicket(id) {
		t.Errorf("%q is no number of a ticket", id)
	}
	if _, ok := s.get(id, now.Add(time.Minute)); !ok {
		t.Error("gone too early")
	}
	if _, ok := s.get(id, now.Add(time.Minute+1)); ok {
		t.Error("good for too long")
	}
	for range maxTickets + 10 {
		s.add(ticket{until: now.Add(time.Minute)}, now)
	}
	if len(s.m) > maxTickets {
		t.Errorf("%d tickets", len(s.m))
	}
}

func TestExpiryOfTheForgeCounts(t *testing.T) {
	f := configured(t)
	now := time.Unix(1e9, 0)
	f.now = func() time.Time { return now }
	soon := now.Add(90 * time.Second)
	for want, act := range map[time.Duration]action{
		ticketTTL: {ExpiresIn: 1 << 40}, 30 * time.Second: {ExpiresIn: 30}, 90 * time.Second: {ExpiresAt: &soon},
	} {
		act.Href = "https://forge.test/x"
		got, err := f.ticket("download", act, &answerObject{}, access{})
		if err != nil || got.until.Sub(now) != want {
			t.Errorf("%v, %v; want %v", got.until.Sub(now), err, want)
		}
	}
	for _, href := range []string{"http://forge.test/x", "file:///x", "//x", "", "https:///x"} {
		if _, err := f.ticket("download", action{Href: href}, &answerObject{}, access{}); err == nil {
			t.Errorf("%q is taken", href)
		}
	}
	if _, err := f.ticket("other", action{Href: "https://forge.test/"}, &answerObject{}, access{}); err == nil {
		t.Error("an unknown action is taken")
	}
}

func serve(f *Forge, method, path, kind, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, f.prefix+path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

func TestPushIsBounded(t *testing.T) {
	f := configured(t)
	f.maxPush = 1000
	w := serve(f, "POST", "/alice/work.git/git-receive-pack", "application/x-git-receive-pack-request", strings.Repeat("x", 1001))
	if w.Code != 413 || !strings.Contains(w.Body.String(), "more than 1000 bytes") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if left, _ := os.ReadDir(f.Spool); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// TestServersThatDoNotFit: a push to a server that cannot be asked is denied, and
// the sentence says why.
func TestServersThatDoNotFit(t *testing.T) {
	push := packets(zeros+" "+ones+" refs/heads/a\x00 report-status", "") + "PACK"
	const advert = "application/x-git-upload-pack-advertisement"
	for what, row := range map[string]struct {
		status           int
		kind, body, want string
	}{
		"version 0":        {200, advert, packets("# service=git-upload-pack\n", "", ones+" HEAD\x00 symref=HEAD:refs/heads/main", ""), "does not speak version 2"},
		"SHA-256":          {200, advert, packets("version 2", "object-format=sha256", ""), "SHA-256"},
		"cut":              {200, advert, packets("version 2", "fetch"), "read capabilities"},
		"a page":           {200, "text/html", "<html>", "smart protocol"},
		"token refused":    {401, "text/plain", "Bad credentials\x1b[2K", "refuses the credential for alice/work (status 401) Bad credentials[2K"},
		"down":             {503, "text/plain", "", "status 503"},
		"sent away":        {302, "https://elsewhere.test/alice/work.git/info/refs?service=git-upload-pack", "", "sends us away, to elsewhere.test"},
		"sent to plain":    {302, "http://forge.test/alice/work.git/info/refs?service=git-upload-pack", "", "sends us away"},
		"sent in a circle": {302, "https://forge.test/alice/work.git/info/refs?service=git-upload-pack", "", "round in circles"},
		"sent out":         {302, "https://forge.test/alice//x.git/info/refs?service=git-upload-pack", "", "no repository"},
		"sent to log in":   {302, "https://forge.test/login", "", "sends us away"},
	} {
		t.Run(what, func(t *testing.T) {
			f := configured(t, func(c *Config) {
				c.Transport = answers{"/alice/work.git/info/refs": func() (int, string, string) { return row.status, row.kind, row.body }}
			})
			w := serve(f, "POST", "/alice/work.git/git-receive-pack", "application/x-git-receive-pack-request", push)
			if w.Code != 200 || !strings.Contains(w.Body.String(), "ng refs/heads/a ringfence: ") || !strings.Contains(w.Body.String(), row.want) {
				t.Errorf("%d %q, want %q", w.Code, w.Body, row.want)
			}
		})
	}
}

// TestBand: a server that breaks off, or says that it failed, is not taken for one
// that has sent all.
func TestBand(t *testing.T) {
	for what, c := range map[string]struct{ in, want, err string }{
		"whole":    {packets("\x01ab", "\x02progress", "\x01cd", ""), "abcd", ""},
		"cut":      {packets("\x01ab"), "ab", "unexpected EOF"},
		"error":    {packets("\x01ab", "\x03no such luck\n"), "ab", "the server says: no such luck"},
		"no frame": {packets("\x01ab") + "PACK", "ab", "bad pkt-line"},
	} {
		got, err := io.ReadAll(&band{pr: newPacketReader(strings.NewReader(c.in))})
		if string(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q and %v", what, got, err)
		}
	}
}

// many is a tree with so many files that run.
func many(n int, id string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "100644 a%04d.gitlab-ci.yml\x00%s", i, id)
	}
	return b.String()
}

func TestReadFolder(t *testing.T) {
	id := strings.Repeat("\x01", 20)
	for what, c := range map[string]struct {
		in   string
		want int // entries; -1: an error
	}{
		"nothing":           {"", 0},
		"others":            {"100644 README\x00" + id, 0},
		"those that matter": {"40000 .github\x00" + id + "100644 .gitlab-ci.yml\x00" + id + "100644 README\x00" + id, 2},
		"twice":             {"100644 .github\x00" + id + "100644 .github.x\x00" + id + "40000 .github\x00" + id, -1},
		"three times":       {"100644 .github\x00" + id + "120000 .github\x00" + id, -1},
		"malformed":         {"100644 README", -1},
		"folded":            {"40000 .GitHub\x00" + id + "100644 JENKINSFILE\x00" + id, 2},
		"by a star":         {"100644 azure-pipelines-nightly.yml\x00" + id + "100644 b.gitlab-ci.yml\x00" + id, 2},
		"too many":          {many(maxRuns+1, id), -1},
	} {
		f := readFolder([]byte(c.in))
		if (f.err != nil) != (c.want < 0) || f.err == nil && len(f.entries) != c.want {
			t.Errorf("%s: %d entries, %v", what, len(f.entries), f.err)
		}
	}
	if readFolder(nil) != emptyFolder {
		t.Error("an empty folder of its own")
	}
}

// TestProofIsBounded: what a push makes us remember and walk has an end.
func TestProofIsBounded(t *testing.T) {
	commit := []byte("tree " + ones + "\nparent " + twos + "\nauthor ")
	p := newProof(context.Background(), nil, state{})
	if err := p.keep(named("1"), object.Commit, commit); err != nil {
		t.Fatal(err)
	}
	if way, err := p.walk(named("1")); err != nil || len(way.fresh) != 1 || len(way.edge) != 1 {
		t.Errorf("%+v %v", way, err)
	}
	p.kept, p.steps = maxKept, maxSteps
	if err := p.keep(named("2"), object.Commit, commit); err != errMuch {
		t.Errorf("memory: %v", err)
	}
	if _, err := p.walk(named("1")); err != errMuch {
		t.Errorf("steps: %v", err)
	}
}

// TestLinks: where refs lead is what the server says, in one step or in many; what it
// says in two ways, or round in circles, is refused.
func TestLinks(t *testing.T) {
	for what, c := range map[string]struct {
		lines, head, ref, want, err string
	}{
		"in many steps":         {ones + " HEAD symref-target:refs/heads/a\n" + ones + " refs/heads/a symref-target:refs/heads/b\n" + ones + " refs/heads/b", "refs/heads/b", "refs/heads/a", "refs/heads/b", ""},
		"in another case":       {ones + " HEAD\n" + ones + " refs/heads/a symref-target:refs/heads/b", "", "refs/heads/A", "refs/heads/b", ""},
		"unborn":                {"unborn HEAD symref-target:refs/heads/main", "refs/heads/main", "refs/heads/x", "refs/heads/x", ""},
		"circle":                {ones + " refs/heads/a symref-target:refs/heads/b\n" + ones + " refs/heads/b symref-target:refs/heads/a", "", "refs/heads/a", "", "circles"},
		"two targets":           {ones + " refs/heads/a symref-target:refs/heads/b symref-target:refs/heads/c", "", "", "", "no ref"},
		"no name":               {ones + " refs/heads/a symref-target:HEAD", "", "", "", "no ref"},
		"nothing":               {ones + " refs/heads/a symref-target:", "", "", "", "no ref"},
		"with what is peeled":   {ones + " refs/heads/a peeled:" + ones + " symref-target:refs/heads/b", "", "refs/heads/a", "refs/heads/b", ""},
		"a branch by two lines": {ones + " refs/heads/a symref-target:refs/heads/b\n" + ones + " refs/heads/a symref-target:refs/heads/c", "", "", "", "no ref"},
	} {
		t.Run(what, func(t *testing.T) {
			s := state{refs: map[string]object.ID{}, links: map[string]string{}}
			var err error
			for line := range strings.SplitSeq(c.lines, "\n") {
				if err == nil {
					err = s.add(line)
				}
			}
			head, to := "", ""
			if err == nil {
				head, err = s.leads("HEAD")
			}
			if err == nil {
				to, err = s.leads(c.ref)
			}
			if c.err == "" && (err != nil || head != c.head || to != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("HEAD leads to %q, %s to %q: %v", head, c.ref, to, err)
			}
		})
	}
}

// TestUnknownHead: where the server does not tell which branch is the default one, each
// that is where HEAD is may be it.
func TestUnknownHead(t *testing.T) {
	id, _ := object.ParseSHA1(ones)
	s := state{refs: map[string]object.ID{"refs/heads/trunk": id, "refs/heads/other": named("1")}, at: id}
	for ref, want := range map[string]bool{"refs/heads/trunk": true, "refs/heads/other": false, "refs/heads/main": true, "refs/heads/new": false} {
		if isDefault(ref, s) != want {
			t.Errorf("%s: %v", ref, !want)
		}
	}
}

// TestNoRanges: an LFS object is asked for whole, and a part of one does not come in.
func TestNoRanges(t *testing.T) {
	for status, want := range map[int]int{200: 200, 206: 502} {
		var asked http.Header
		f := configured(t)
		u, _ := url.Parse("https://forge.test/object")
		id := f.tickets.add(ticket{method: "GET", url: u, header: http.Header{}, until: f.now().Add(time.Hour), access: access{transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = r.Header
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Range": {"bytes 0-1/9"}}, Body: io.NopCloser(strings.NewReader("ab"))}, nil
		})}}, f.now())
		r := httptest.NewRequest("GET", "/git/forge.test/lfs/"+id, nil)
		r.URL.Path = f.prefix + "/lfs/" + id
		r.Header.Set("Range", "bytes=0-1")
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		if w.Code != want || asked.Get("Range") != "" || w.Header().Get("Content-Range") != "" {
			t.Errorf("status %d: %d %v, asked with %v", status, w.Code, w.Header(), asked)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestOptions: a push option says how a branch is shown, and holds no command.
func TestOptions(t *testing.T) {
	f := configured(t)
	for option, want := range map[string]bool{"ci.skip": true, "merge_request.title=a title": true, `merge_request.description=one\ntwo /usr`: true,
		"merge_request.merge_when_pipeline_succeeds": false, "ci.variable=A=b": false, "merge_request.description=/merge": false, `merge_request.description=x\n/merge`: false,
		`merge_request.description=x\n ／merge`: false, `merge_request.description=/\rmerge`: false, `merge_request.description=<!-- -->/merge`: false} {
		if why := f.judgeOptions([]string{option}); (why == "") != want {
			t.Errorf("%s: %q", option, why)
		}
	}
	// Without a description GitLab takes the one of a commit, and acts on it.
	for text, want := range map[string]bool{"": false, " merge_request.title=t": false, " merge_request.description=d": true, " merge_request.description=": false,
		` merge_request.description=\n`: false, " merge_request.description=d merge_request.description=": false} {
		why := f.judgeOptions(strings.Split("merge_request.create"+text, " "))
		if (why == "") != want {
			t.Errorf("create%s: %q", text, why)
		}
		if text == "" && !strings.Contains(why, "-o merge_request.description=") {
			t.Errorf("it does not say what helps: %s", why)
		}
	}
}

// named is some id.
func named(s string) object.ID { return object.Sum(object.Blob, []byte(s)) }
