package git

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/credentials/gitproxy"
	"ringfence.dev/ringfence/internal/git/object"
)

func (w *world) do(req *http.Request) (int, string) {
	w.t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	for key, values := range resp.Header {
		if strings.Contains(key, "Cookie") || strings.Contains(key, "Auth") || strings.Contains(strings.Join(values, " "), token) {
			w.t.Errorf("the client was sent %s: %q", key, values)
		}
	}
	return resp.StatusCode, string(b)
}

func (w *world) post(path, kind, body string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequest("POST", w.front.URL+"/git/"+host+"/"+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	return w.do(req)
}

func (w *world) receive(body string) (int, string) {
	w.t.Helper()
	return w.post(own+".git/git-receive-pack", "application/x-git-receive-pack-request", body)
}

// packed makes a pack of objects, each a kind and its bytes, or the name of a base
// and the bytes of a delta.
func packed(objects ...any) string {
	var b bytes.Buffer
	b.WriteString("PACK\x00\x00\x00\x02")
	binary.Write(&b, binary.BigEndian, uint32(len(objects)/2))
	for i := 0; i < len(objects); i += 2 {
		t, isKind := objects[i].(object.Type)
		kind := map[object.Type]byte{object.Commit: 1, object.Tree: 2, object.Blob: 3, object.Tag: 4}[t]
		if !isKind {
			kind = 7 // a delta, on the object of that name
		}
		data := objects[i+1].(string)
		size := len(data)
		c := kind<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			b.WriteByte(c | 0x80)
			c = byte(size & 0x7f)
		}
		b.WriteByte(c)
		if !isKind {
			raw, _ := hex.DecodeString(objects[i].(string))
			b.Write(raw)
		}
		z := zlib.NewWriter(&b)
		z.Write([]byte(data))
		z.Close()
	}
	sum := sha1.Sum(b.Bytes())
	return b.String() + string(sum[:])
}

// delta is one that throws its base away.
func delta(base, result string) string {
	size := func(n int) string { return string([]byte{byte(n&0x7f) | 0x80, byte(n >> 7)}) }
	out := size(len(base)) + size(len(result))
	for len(result) > 0 {
		n := min(len(result), 0x7f)
		out += string([]byte{byte(n)}) + result[:n]
		result = result[n:]
	}
	return out
}

func line(format string, args ...any) string {
	return string(gitproxy.AppendPacket(nil, fmt.Sprintf(format, args...)))
}

const (
	zero  = "0000000000000000000000000000000000000000"
	caps  = "\x00 report-status side-band-64k agent=git/2.39.5"
	flush = "0000"
	tail  = "author A <a@a.test> 1 +0000\ncommitter A <a@a.test> 1 +0000\n\nx\n"
)

// crafted is what a liar finds on the forge.
type crafted struct {
	w                     *world
	main, old, tree, evil string
}

func newCrafted(t *testing.T) crafted {
	w := newWorld(t)
	w.clone("work")
	evil(w)
	return crafted{w, w.at(own, "main"), w.at(own, "old"), w.at(own, "main^{tree}"), w.git("work", "rev-parse", "evil")}
}

func (c crafted) commit(tree string, parents ...string) (string, string) {
	text := "tree " + tree + "\n"
	for _, p := range parents {
		text += "parent " + p + "\n"
	}
	text += tail
	return object.Sum(object.Commit, []byte(text)).String(), text
}

// TestMalformedPushes never reach the forge. Each would be, or nearly be, a push
// to git.
func TestMalformedPushes(t *testing.T) {
	c := newCrafted(t)
	id, text := c.commit(c.tree, c.main)
	good := packed(object.Commit, text)
	first := line("%s %s refs/heads/a%s", zero, id, caps)
	long := line("%s %s refs/heads/%s%s", zero, id, strings.Repeat("a", 0xaa-len(first)+16), caps)
	named := func(name string) string { return line("%s %s %s%s", zero, id, name, caps) + flush + good }
	capped := func(words string) string { return line("%s %s refs/heads/a\x00%s", zero, id, words) + flush + good }
	before := c.w.all(own)
	for what, body := range map[string]string{
		"nothing":                   "",
		"not packets":               "hello",
		"no flush":                  first,
		"no flush before the pack":  first + good,
		"cut in a packet":           first[:50],
		"one ref twice":             first + line("%s %s refs/heads/a", zero, c.evil) + flush + good,
		"one ref twice, other case": first + line("%s %s refs/heads/A", zero, c.evil) + flush + good,
		"upper-case new":            line("%s %s refs/heads/a%s", zero, strings.ToUpper(id), caps) + flush + good,
		"upper-case old":            line("%s %s refs/heads/old%s", strings.ToUpper(c.old), id, caps) + flush + good,
		"upper-case length":         strings.ToUpper(long[:4]) + long[4:] + flush + good,
		"empty packet":              first + "0004" + line("%s %s refs/heads/main", c.main, id) + flush + good,
		"delimiter as the end":      first + "0001" + good,
		"response end as the end":   first + "0002" + good,
		"two spaces":                line("%s  %s refs/heads/a%s", zero, id, caps) + flush + good,
		"tab":                       line("%s\t%s\trefs/heads/a%s", zero, id, caps) + flush + good,
		"space behind the name":     named("refs/heads/a "),
		"newline in the name":       named("refs/heads/a\nrefs/heads/main"),
		"escape in the name":        named("refs/heads/a\x1b[2K"),
		"dots in the name":          named("refs/heads/a/../main"),
		"dot element":               named("refs/heads/./main"),
		"slashes in the name":       named("refs/heads//main"),
		"slash behind":              named("refs/heads/main/"),
		"lock":                      named("refs/heads/main.lock"),
		"at brace":                  named("refs/heads/main@{0}"),
		"tilde":                     named("refs/heads/main~1"),
		"backslash":                 named(`refs/heads\main`),
		"not below refs":            named("HEAD"),
		"not UTF-8":                 named("refs/heads/\xff"),
		"cannot be seen":            named("refs/heads/ma\u200bin"),
		"short":                     line("%s %s%s", zero, id, caps) + flush + good,
		"capabilities later":        first + line("%s %s refs/heads/b\x00 atomic", zero, id) + flush + good,
		"no capabilities":           line("%s %s refs/heads/a", zero, id) + flush + good,
		"two NULs":                  line("%s %s refs/heads/a\x00report-status\x00push-cert=x", zero, id) + flush + good,
		"unknown capability":        capped("report-status allow-everything"),
		"capability twice":          capped("atomic atomic"),
		"value where none belongs":  capped("atomic=1"),
		"tab among capabilities":    capped("atomic\tpush-cert=x"),
		"SHA-256":                   capped("report-status object-format=sha256"),
		"signed push": line("push-cert\x00 report-status\n") + line("certificate version 0.1\n") + line("pusher A <a@a.test> 1 +0000\n") + line("\n") +
			line("%s %s refs/heads/main\n", c.main, id) + line("push-cert-end\n") + flush + good,
		"signed push by capability": capped("report-status push-cert=nonce"),
		"shallow later":             first + line("shallow %s", c.main) + flush + good,
		"shallow nothing":           line("shallow HEAD") + first + flush + good,
		"neither old nor new":       line("%s %s refs/heads/a%s", zero, zero, caps) + flush,
	} {
		t.Run(what, func(t *testing.T) {
			if status, got := c.w.receive(body); status != 400 {
				t.Errorf("%d %q", status, got)
			}
		})
	}
	c.unchanged(t, before)
}

// unchanged has the forge say that nothing reached it.
func (c crafted) unchanged(t *testing.T, before string) {
	t.Helper()
	if c.w.all(own) != before {
		t.Errorf("the forge changed:\n%s", c.w.all(own))
	}
	for _, s := range c.w.requests() {
		if s.method == "POST" && strings.HasSuffix(s.path, "/git-receive-pack") {
			t.Errorf("a push reached the forge")
		}
	}
}

// TestLies are well-formed pushes that are not what they say.
func TestLies(t *testing.T) {
	c := newCrafted(t)
	id, text := c.commit(c.tree, c.main)
	forkID, fork := c.commit(c.tree, c.old)
	_, orphan := c.commit(c.tree)
	lonelyID, lonely := c.commit(c.tree, strings.Repeat("1", 40))
	upperID, upper := c.commit(c.tree, strings.ToUpper(c.main))
	evilTree := c.w.at(own, c.evil+"^{tree}")
	reuseID, reuse := c.commit(evilTree, c.main)
	nowhereID, nowhere := c.commit(strings.Repeat("2", 40), c.main)
	raw, _ := hex.DecodeString(c.tree)
	doubleTree := "40000 .github\x00" + string(raw) + "40000 .github\x00" + string(raw)
	doubleID, double := c.commit(object.Sum(object.Tree, []byte(doubleTree)).String(), c.main)
	apartTree := "100644 .github\x00" + string(raw) + "100644 .github.x\x00" + string(raw) + "40000 .github\x00" + string(raw)
	apartID, apart := c.commit(object.Sum(object.Tree, []byte(apartTree)).String(), c.main)
	blob := object.Sum(object.Blob, []byte("x")).String()
	tagText := "object " + id + "\ntype commit\ntag x\ntagger A <a@a.test> 1 +0000\n\nx\n"
	tagID := object.Sum(object.Tag, []byte(tagText)).String()
	good := packed(object.Commit, text)
	wrong := []byte(good)
	wrong[len(wrong)-1] ^= 1
	before := c.w.all(own)
	cmd := func(old, new, ref string) string { return line("%s %s %s%s", old, new, ref, caps) + flush }
	for what, l := range map[string]struct{ body, want string }{
		"pack with a wrong checksum":      {cmd(zero, id, "refs/heads/a") + string(wrong), "checksum is wrong"},
		"pack that is cut":                {cmd(zero, id, "refs/heads/a") + good[:40], "the pack cannot be read"},
		"no pack":                         {cmd(zero, id, "refs/heads/a"), "the pack cannot be read"},
		"bytes behind the pack":           {cmd(zero, id, "refs/heads/a") + good + "x", "the pack cannot be read"},
		"a second pack":                   {cmd(zero, id, "refs/heads/a") + good + good, "the pack cannot be read"},
		"old that is not true":            {cmd(c.main, id, "refs/heads/old") + good, "elsewhere on the server by now"},
		"old that hides a branch":         {cmd(zero, forkID, "refs/heads/old") + packed(object.Commit, fork), "elsewhere on the server by now"},
		"old that is not there":           {cmd(c.old, id, "refs/heads/a") + good, "elsewhere on the server by now"},
		"commit that is not in the pack":  {cmd(zero, id, "refs/heads/a") + packed(object.Commit, orphan), "not on the server"},
		"parent that is nowhere":          {cmd(zero, lonelyID, "refs/heads/a") + packed(object.Commit, lonely), "not on the server"},
		"parent in upper case":            {cmd(zero, upperID, "refs/heads/a") + packed(object.Commit, upper), "bad git object"},
		"fork of an older commit":         {cmd(c.old, forkID, "refs/heads/old") + packed(object.Commit, strings.Replace(fork, "parent "+c.old, "parent "+c.main, 1)), "not on the server"},
		"tree of a stranger":              {cmd(zero, reuseID, "refs/heads/a") + packed(object.Commit, reuse), "changes of .github/workflows are denied"},
		"tree that is nowhere":            {cmd(zero, nowhereID, "refs/heads/a") + packed(object.Commit, nowhere), "cannot be shown"},
		"tree with a directory twice":     {cmd(zero, doubleID, "refs/heads/a") + packed(object.Commit, double, object.Tree, doubleTree), "cannot be shown"},
		"tree with a name twice, apart":   {cmd(zero, apartID, "refs/heads/a") + packed(object.Commit, apart, object.Tree, apartTree), "cannot be shown"},
		"branch at a tree":                {cmd(zero, c.tree, "refs/heads/a") + packed(), "does not give out commit"},
		"branch at a blob":                {cmd(zero, blob, "refs/heads/a") + packed(object.Blob, "x"), "not on the server"},
		"branch at a tag":                 {cmd(zero, tagID, "refs/heads/a") + packed(object.Commit, text, object.Tag, tagText), "leads to a tag"},
		"default branch in other letters": {cmd(zero, id, "refs/heads/MAIN") + good, "default branch are denied"},
		"deletion with a pack":            {cmd(c.old, zero, "refs/heads/old") + good, "deletions are denied"},
	} {
		t.Run(what, func(t *testing.T) {
			status, got := c.w.receive(l.body)
			if status != 200 || !strings.Contains(got, "unpack ok\n") || !strings.Contains(got, "ng refs/heads/") || !strings.Contains(got, l.want) {
				t.Errorf("%d %q, want %q", status, got, l.want)
			}
		})
	}
	c.unchanged(t, before)
}

// TestTruths: the same tools make pushes that go through, or the lies would show
// nothing.
func TestTruths(t *testing.T) {
	c := newCrafted(t)
	id, text := c.commit(c.tree, c.main)
	mergeID, merge := c.commit(c.tree, c.main, c.old)
	older := c.w.at(own, "main~1^{tree}") // not in the pack, nor next to it
	olderID, oldText := c.commit(older, c.w.at(own, "main~2"))
	// A tree that is a delta on a tree of the server which is not next to it.
	raw := func(rev string) string {
		out, err := exec.Command("git", "-C", c.w.bare(own), "cat-file", "tree", rev).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	readme := func(rev string) string { b, _ := hex.DecodeString(c.w.at(own, rev+":README")); return string(b) }
	newTree := strings.Replace(raw("main^{tree}"), readme("main"), readme("main~3"), 1)
	newTreeID := object.Sum(object.Tree, []byte(newTree)).String()
	thinID, thin := c.commit(newTreeID, c.main)
	far := c.w.at(own, "main~4^{tree}")
	near := c.tree
	zip := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(s))
		z.Close()
		return b.String()
	}
	for what, l := range map[string]struct{ ref, new, old, pack, encoding string }{
		"a commit":                 {"refs/heads/a", id, zero, packed(object.Commit, text), ""},
		"merge that moves forward": {"refs/heads/old", mergeID, c.old, packed(object.Commit, merge), ""},
		"tree left to the server":  {"refs/heads/b", olderID, zero, packed(object.Commit, oldText), ""},
		"delta on a tree far off":  {"refs/heads/d", thinID, zero, packed(object.Commit, thin, far, delta(raw("main~4^{tree}"), newTree)), ""},
		"delta on the tree before": {"refs/heads/e", thinID, zero, packed(object.Commit, thin, near, delta(raw("main^{tree}"), newTree)), ""},
		"compressed":               {"refs/heads/c", id, zero, packed(object.Commit, text), "gzip"},
		"name in other letters":    {"refs/heads/\u00fcber/fix", id, zero, packed(object.Commit, text), ""},
	} {
		t.Run(what, func(t *testing.T) {
			body := line("%s %s %s%s", l.old, l.new, l.ref, caps) + flush + l.pack
			if l.encoding != "" {
				body = zip(body)
			}
			req, _ := http.NewRequest("POST", c.w.front.URL+"/git/"+host+"/"+own+".git/git-receive-pack", strings.NewReader(body))
			req.Header.Set("Content-Type", "application/x-git-receive-pack-request")
			req.Header.Set("Expect", "100-continue")
			if l.encoding != "" {
				req.Header.Set("Content-Encoding", l.encoding)
			}
			status, got := c.w.do(req)
			if status != 200 || !strings.Contains(got, "ok "+l.ref) || c.w.at(own, l.ref) != l.new {
				t.Errorf("%d %q", status, got)
			}
		})
	}
}

// TestDeletionCarriesNothing: git sends no pack with deletions alone.
func TestDeletionCarriesNothing(t *testing.T) {
	w := newWorld(t, allow("delete"))
	head := line("%s %s refs/heads/old%s", w.at(own, "old"), zero, caps) + flush
	if _, got := w.receive(head + packed()); !strings.Contains(got, "bytes behind a push that only deletes") || w.at(own, "old") == "" {
		t.Errorf("%q", got)
	}
	if _, got := w.receive(head); !strings.Contains(got, "ok refs/heads/old") || w.at(own, "old") != "" {
		t.Errorf("%q", got)
	}
}

// TestSmuggledPaths: one spelling of a path, and none that leads out of the
// repository. The forge does not hear of the others.
func TestSmuggledPaths(t *testing.T) {
	w := newWorld(t)
	const refs = "/info/refs?service=git-upload-pack"
	for path, want := range map[string]int{
		"/git/forge.test/alice/work.git" + refs:                                                     200,
		"/git/forge.test/alice/work" + refs:                                                         200,
		"/git/forge.test/ALICE/Work.git" + refs:                                                     200,
		"/git/forge.test/alice/work.git/../../carol/safe.git" + refs:                                400,
		"/git/forge.test/alice/work.git/%2e%2e/%2e%2e/carol/safe.git" + refs:                        400,
		"/git/forge.test/alice/%77ork.git" + refs:                                                   400,
		"/git/forge.test/alice%2fwork.git" + refs:                                                   400,
		"/git/forge.test//alice/work.git" + refs:                                                    400,
		"/git/forge.test/alice//work.git" + refs:                                                    400,
		"/git/forge.test/alice/work.git/" + refs:                                                    400,
		"/git/forge.test/alice/work.git;/carol/safe.git" + refs:                                     400,
		"/git/forge.test/alice/work.git.git" + refs:                                                 400,
		"/git/forge.test/alice/work.GIT" + refs:                                                     400,
		"/git/forge.test/alice/./work.git" + refs:                                                   400,
		"/git/forge.test/alice/work.git/info/lfs" + refs:                                            400,
		"/git/forge.test/alice/w\\ork.git" + refs:                                                   400,
		"/git/forge.test/alice/work.git%00" + refs:                                                  400,
		"/git/forge.test/alice/work.git/info/refs":                                                  400,
		"/git/forge.test/alice/work.git/info/refs?service=git-upload-archive":                       400,
		"/git/forge.test/alice/work.git/info/refs?service=git-upload-pack&service=git-receive-pack": 400,
		"/git/forge.test/alice/work.git/info/refs?service=git-upload-pack&x=1":                      400,
		"/git/forge.test/alice/work.git/info/refs?service=git%2dupload-pack":                        400,
		"/git/forge.test/alice/work.git/HEAD":                                                       404,
		"/git/forge.test/alice/work.git/objects/info/packs":                                         404,
		"/git/forge.test/alice/work/settings":                                                       404,
		"/git/forge.test/":                                                                          404,
		"/git/forge.testing/alice/work.git" + refs:                                                  404,
		"/": 404,
		"/git/forge.test/lfs/../alice/work.git" + refs: 400,
	} {
		before := len(w.requests())
		req, _ := http.NewRequest("GET", w.front.URL, nil)
		bare, query, _ := strings.Cut(path, "?")
		req.URL.Opaque, req.URL.RawQuery = "//"+req.URL.Host+bare, query // as it is, byte for byte
		status, body := w.do(req)
		if status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if want != 200 && len(w.requests()) != before {
			t.Errorf("%s: the forge heard of it", path)
		}
	}
	for _, s := range w.requests() {
		if _, err := url.ParseRequestURI(s.path); err != nil || !strings.HasPrefix(s.path, "/alice/work") {
			t.Errorf("the forge was asked for %s", s.path)
		}
	}
}

// TestHeaders: the forge sees no header of the client's, and the client no
// cookie of the forge's.
func TestHeaders(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		key, value string
		status     int
	}{
		{"Authorization", "Basic stolen", 200}, {"Cookie", "a=stolen", 200}, {"X-Forwarded-For", "stolen", 200}, {"User-Agent", "stolen", 200},
		{"Accept-Encoding", "stolen", 200}, {"Proxy-Authorization", "stolen", 200}, {"Git-Protocol", "version=2", 200}, {"Git-Protocol", "version=2:stolen", 400},
		{"Git-Protocol", "version=3", 400},
	} {
		req, _ := http.NewRequest("GET", w.front.URL+"/git/"+host+"/"+own+".git/info/refs?service=git-upload-pack", nil)
		req.Header.Set(c.key, c.value)
		if status, body := w.do(req); status != c.status {
			t.Errorf("%s: %d %s", c.key, status, body)
		}
	}
	for _, s := range w.requests() {
		for key, values := range s.header {
			if strings.Contains(strings.Join(values, " "), "stolen") {
				t.Errorf("the forge got %s: %q", key, values)
			}
		}
	}
	req, _ := http.NewRequest("POST", w.front.URL+"/git/"+host+"/"+own+".git/git-upload-pack", strings.NewReader("0000"))
	req.Header.Set("Content-Type", "text/plain")
	if status, _ := w.do(req); status != 415 {
		t.Errorf("another type: %d", status)
	}
}

func TestSHA256Repository(t *testing.T) {
	w := newWorld(t)
	w.git(".", "init", "-q", "--bare", "--object-format=sha256", "-b", "main", w.bare("alice/new"))
	w.git(w.bare("alice/new"), "config", "http.receivepack", "true")
	w.frontFor(repos("alice/new"))
	w.git(".", "init", "-q", "--object-format=sha256", "-b", "fix", "new")
	w.commit("new", "x")
	out, err := w.run("new", "push", "https://"+host+"/alice/new.git", "fix")
	if err == nil || !strings.Contains(out, "remote: ringfence: the repository names objects by SHA-256; pushes to such are not supported") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestEmptyRepository: its default branch is where HEAD will lead, and where
// nothing says that, main and master.
func TestEmptyRepository(t *testing.T) {
	w := newWorld(t)
	w.git(".", "init", "-q", "--bare", "-b", "trunk", w.bare("alice/new"))
	w.git(w.bare("alice/new"), "config", "http.receivepack", "true")
	w.frontFor(repos("alice/new"))
	w.git(".", "init", "-q", "-b", "trunk", "new")
	w.commit("new", "x")
	remote := "https://" + host + "/alice/new.git"
	if out, err := w.run("new", "push", remote, "trunk"); err == nil || !strings.Contains(out, "default branch are denied") {
		t.Errorf("%v\n%s", err, out)
	}
	w.git("new", "push", "-q", remote, "trunk:fix")
	w.git(w.bare("alice/new"), "update-ref", "--no-deref", "HEAD", w.at("alice/new", "fix"))
	for _, name := range []string{"main", "master"} {
		if out, err := w.run("new", "push", remote, "trunk:"+name); err == nil || !strings.Contains(out, "default branch are denied") {
			t.Errorf("%v\n%s", err, out)
		}
	}
	w.git("new", "push", "-q", remote, "trunk")
}
