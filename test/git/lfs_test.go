package git

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/credentials/gitproxy"
)

// TestLFS pushes and pulls with real git-lfs, with the objects at the forge and
// elsewhere, and then looks for what must not be with the client.
func TestLFS(t *testing.T) {
	for what, near := range map[string]bool{"at the forge": true, "elsewhere": false} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.lfs.near = near
			w.clone("work")
			w.git("work", "switch", "-q", "-c", "fix")
			w.git("work", "lfs", "install", "--local")
			w.git("work", "lfs", "track", "*.bin")
			big := strings.Repeat("large \x00 file\n", 10000)
			w.write("work", "a.bin", big)
			w.commit("work", "a large file")
			pushed(t, w, "work", "fix")
			if len(w.lfs.objects) != 1 {
				t.Fatalf("the storage has %d objects", len(w.lfs.objects))
			}
			w.clone("again", "--branch", "fix")
			got, err := os.ReadFile(w.path("again/a.bin"))
			if err != nil || string(got) != big {
				t.Errorf("%d bytes came back, %v", len(got), err)
			}
			w.git("work", "remote", "set-url", "origin", "git@"+host+":"+own+".git") // git-lfs reads insteadOf too
			w.write("work", "b.bin", big+"more")
			w.commit("work", "another")
			pushed(t, w, "work", "fix")
			for _, dir := range []string{"home", "work", "again"} {
				search(t, w.path(dir), token, signed, store)
			}
		})
	}
}

// search fails for every file below dir that has one of the words.
func search(t *testing.T, dir string, words ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, word := range words {
			if bytes.Contains(b, []byte(word)) {
				t.Errorf("%s holds %q", path, word)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

const someOID = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func batchBody(operation string) string {
	return `{"operation":"` + operation + `","transfers":["custom","basic"],"objects":[{"oid":"` + someOID + `","size":0}],"extra":1}`
}

func TestLFSBatch(t *testing.T) {
	w := newWorld(t)
	for what, c := range map[string]struct {
		repo, body string
		status     int
		want       string
	}{
		"upload":                {own, batchBody("upload"), 200, `"href":"` + w.front.URL + `/git/forge.test/lfs/`},
		"download of nothing":   {own, batchBody("download"), 200, "no such object"},
		"public download":       {lib, batchBody("download"), 200, "no such object"},
		"upload elsewhere":      {lib, batchBody("upload"), 403, "uploads to other repositories than alice/work are denied"},
		"private elsewhere":     {secret, batchBody("download"), 403, "status 401"},
		"other operation":       {own, batchBody("delete"), 422, "operation"},
		"two operations, same":  {lib, `{"operation":"download","Operation":"upload","objects":[]}`, 403, "uploads to other"},
		"bad oid":               {own, `{"operation":"upload","objects":[{"oid":"../x","size":1}]}`, 422, "no LFS object"},
		"negative size":         {own, `{"operation":"upload","objects":[{"oid":"` + someOID + `","size":-1}]}`, 422, "no LFS object"},
		"other hash":            {own, `{"operation":"upload","hash_algo":"md5","objects":[]}`, 422, "hash"},
		"bad ref":               {own, `{"operation":"upload","ref":{"name":"../x"},"objects":[]}`, 422, "no name of a ref"},
		"two documents":         {own, batchBody("upload") + "{}", 422, "something behind"},
		"not JSON":              {own, "operation=upload", 422, "not understood"},
		"too many":              {own, `{"operation":"upload","objects":[` + strings.Repeat(`{"oid":"`+someOID+`","size":0},`, 1000) + `{"oid":"` + someOID + `","size":0}]}`, 422, "more than 1000"},
		"names of other places": {own, `{"operation":"upload","objects":[],"actions":{"upload":{"href":"https://elsewhere.test/"}}}`, 200, `"objects":null`},
	} {
		t.Run(what, func(t *testing.T) {
			status, body := w.post(c.repo+".git/info/lfs/objects/batch", "application/vnd.git-lfs+json", c.body)
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%d %s", status, body)
			}
			for _, word := range []string{token, signed, store} {
				if strings.Contains(body, word) {
					t.Errorf("the client was told %q: %s", word, body)
				}
			}
		})
	}
	for _, b := range w.lfs.batches {
		if strings.Contains(b, "extra") || strings.Contains(b, "custom") || strings.Contains(b, "elsewhere") {
			t.Errorf("the forge was told %s", b)
		}
	}
}

func TestLFSTickets(t *testing.T) {
	w := newWorld(t)
	_, body := w.post(own+".git/info/lfs/objects/batch", "application/vnd.git-lfs+json", batchBody("upload"))
	_, rest, _ := strings.Cut(body, `"upload":{"href":"`+w.front.URL)
	place, _, _ := strings.Cut(rest, `"`)
	for what, c := range map[string]struct {
		method, path, body string
		status             int
	}{
		"another number": {"PUT", "/git/forge.test/lfs/" + strings.Repeat("0", 32), "", 404},
		"another method": {"GET", place, "", 405},
		"another length": {"PUT", place, "x", 411},
		"a query":        {"PUT", place + "?x=1", "", 404},
		"deeper":         {"PUT", place + "/x", "", 404},
		"as it is":       {"PUT", place, "", 200},
	} {
		t.Run(what, func(t *testing.T) {
			req, _ := http.NewRequest(c.method, w.front.URL+c.path, strings.NewReader(c.body))
			if status, body := w.do(req); status != c.status {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	w.frontFor(func(c *gitproxy.Config) { c.Storage = nil })
	if _, body := w.post(own+".git/info/lfs/objects/batch", "application/vnd.git-lfs+json", batchBody("download")); !strings.Contains(body, "and that is denied") {
		t.Errorf("without storage: %s", body)
	}
}

func TestLFSLocks(t *testing.T) {
	w := newWorld(t)
	w.clone("work")
	w.git("work", "lfs", "locks")
	out, err := w.run("work", "lfs", "lock", "README")
	if err == nil || !strings.Contains(out, "ringfence: taking and dropping LFS locks is denied") {
		t.Errorf("%v: %s", err, out)
	}
	if status, body := w.post(own+".git/info/lfs/locks/1/unlock", "application/vnd.git-lfs+json", `{"force":true}`); status != 403 {
		t.Errorf("%d %s", status, body)
	}
	if w.lfs.locked != 0 {
		t.Errorf("%d requests for locks got through", w.lfs.locked)
	}
	w.frontFor(allow("lfs-locks"))
	if status, body := w.post(own+".git/info/lfs/locks/1/unlock", "application/vnd.git-lfs+json", `{"force":true}`); status != 201 || w.lfs.locked != 1 {
		t.Errorf("allowed, and still: %d %s", status, body)
	}
	if status, _ := w.post(lib+".git/info/lfs/locks/verify", "application/vnd.git-lfs+json", `{}`); status != 403 {
		t.Errorf("locks of another repository: %d", status)
	}
}
