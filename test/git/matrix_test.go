package git

import (
	"os"
	"strings"
	"testing"
)

// TestMatrix is a day's work with git, in each version of the protocol and by
// each way to write a remote.
func TestMatrix(t *testing.T) {
	for _, protocol := range []string{"0", "1", "2"} {
		t.Run("protocol "+protocol, func(t *testing.T) {
			w := newWorld(t)
			w.git(".", "config", "--global", "protocol.version", protocol)
			day(t, w)
		})
	}
}

func day(t *testing.T, w *world) {
	w.clone("work")
	if got, want := w.git("work", "rev-parse", "HEAD"), w.at(own, "main"); got != want {
		t.Fatalf("cloned %s, the forge has %s", got, want)
	}

	w.git("work", "switch", "-q", "-c", "fix")
	w.write("work", "src/deep/file-1", "changed\n")
	w.commit("work", "one")
	pushed(t, w, "work", "fix")
	if e := w.lastEvent(); e.Denied || e.Repo != own || len(e.Refs) != 1 || e.Refs[0].Name != "refs/heads/fix" {
		t.Errorf("journalled %+v", e)
	}

	w.write("work", "src/deep/file-2", "changed too\n")
	w.commit("work", "two")
	pushed(t, w, "work", "fix")

	w.git("work", "switch", "-q", "-c", "side", "HEAD~1")
	w.write("work", "elsewhere", "x\n")
	w.commit("work", "three")
	w.git("work", "switch", "-q", "fix")
	w.git("work", "merge", "-q", "--no-edit", "side")
	pushed(t, w, "work", "fix")
	pushed(t, w, "work", "side") // nothing new to the server

	// Somebody else goes on; a fetch brings it.
	seed := w.path("seed/" + own)
	w.write(seed, "README", "by somebody else\n")
	want := w.commit(seed, "elsewhere")
	w.git(seed, "push", "-q", w.bare(own), "main")
	w.git("work", "fetch", "-q")
	if got := w.git("work", "rev-parse", "origin/main"); got != want {
		t.Errorf("fetched %s, the forge has %s", got, want)
	}
	w.git("work", "merge", "-q", "--no-edit", "origin/main")
	pushed(t, w, "work", "fix")
}

// pushed pushes a branch and has the forge's disk say that it came.
func pushed(t *testing.T, w *world, dir, branch string, args ...string) {
	t.Helper()
	w.git(dir, append(append([]string{"push", "-q"}, args...), "origin", branch)...)
	if got, want := w.at(own, "refs/heads/"+branch), w.git(dir, "rev-parse", branch); got != want {
		t.Fatalf("pushed %s, the forge has %q", want, got)
	}
}

func TestWaysToWriteARemote(t *testing.T) {
	w := newWorld(t)
	want := w.at(own, "main")
	for _, url := range []string{"https://" + host + "/" + own + ".git", "https://" + host + "/" + own, "http://" + host + "/" + own, "ssh://git@" + host + "/" + own + ".git",
		"ssh://" + host + "/" + own, "ssh://git@" + host + ":22/" + own, "git@" + host + ":" + own + ".git", "git@" + host + ":/" + own, "git://" + host + "/" + own,
		"https://" + host + "/Alice/WORK.git"} {
		if got := w.git(".", "ls-remote", url, "refs/heads/main"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", url, got)
		}
	}
}

func TestShallowAndPartial(t *testing.T) {
	for what, args := range map[string][]string{"shallow": {"--depth=1"}, "one branch": {"--single-branch"}, "no blobs": {"--filter=blob:none"}, "no trees": {"--filter=tree:0"}} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.clone("work", args...)
			if what == "shallow" && w.git("work", "rev-list", "--count", "HEAD") != "1" {
				t.Error("not shallow")
			}
			w.git("work", "switch", "-q", "-c", "fix")
			w.write("work", "src/deep/file-1", "changed\n")
			w.commit("work", "one")
			pushed(t, w, "work", "fix")
			w.write("work", "src/deep/file-1", "changed again\n")
			w.commit("work", "two")
			pushed(t, w, "work", "fix")
			if what == "shallow" {
				w.git("work", "fetch", "-q", "--unshallow")
			}
			if got := w.git("work", "show", "main~1:README"); !strings.HasPrefix(got, own) {
				t.Errorf("README reads %q", got)
			}
		})
	}
}

// TestLargePush goes in chunks, after git has asked with an empty push whether it
// may come.
func TestLargePush(t *testing.T) {
	for what, args := range map[string][]string{"thin": {"--thin"}, "not thin": {"--no-thin"}, "atomic": {"--atomic"}} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.clone("work")
			w.git("work", "config", "http.postBuffer", "4096")
			w.git("work", "switch", "-q", "-c", "fix")
			big := make([]byte, 3<<20)
			for i, x := 0, uint32(1); i < len(big); i++ {
				x = x*1664525 + 1013904223
				big[i] = byte(x >> 24)
			}
			w.write("work", "big", string(big))
			w.commit("work", "big")
			pushed(t, w, "work", "fix", args...)
		})
	}
}

func TestSubmodules(t *testing.T) {
	w := newWorld(t)
	w.clone("work")
	w.git("work", "switch", "-q", "-c", "fix")
	w.git("work", "submodule", "--quiet", "add", "https://"+host+"/"+lib+".git", "lib")
	w.commit("work", "with a library")
	pushed(t, w, "work", "fix")
	w.clone("again", "--recurse-submodules", "--branch", "fix")
	if got, want := w.git("again/lib", "rev-parse", "HEAD"), w.at(lib, "main"); got != want {
		t.Errorf("the submodule is at %s, want %s", got, want)
	}
	for _, r := range w.requests() {
		if strings.Contains(r.path, lib) && r.header.Get("Authorization") != "" {
			t.Errorf("%s %s went with the credential", r.method, r.path)
		}
	}
}

// TestOtherRepositories: the token is for one repository.
func TestOtherRepositories(t *testing.T) {
	w := newWorld(t)
	w.git(".", "clone", "-q", "https://"+host+"/"+lib, "lib")
	out, err := w.run(".", "clone", "-q", "https://"+host+"/"+secret, "safe")
	if err == nil || !strings.Contains(out, "remote: ringfence: forge.test shows carol/safe to nobody without a credential") {
		t.Errorf("%v: %s", err, out)
	}
	before := w.all(lib)
	w.git("lib", "switch", "-q", "-c", "fix")
	w.commit("lib", "x")
	out, err = w.run("lib", "push", "origin", "fix")
	if err == nil || !strings.Contains(out, `remote: ringfence: pushes to other repositories than alice/work are denied; policy [broker] git = ["other-repos"] allows them`) {
		t.Errorf("%v: %s", err, out)
	}
	if w.all(lib) != before {
		t.Error("the other repository changed")
	}
	for _, r := range w.requests() {
		if !strings.Contains(r.path, own) && r.header.Get("Authorization") != "" {
			t.Errorf("%s %s went with the credential", r.method, r.path)
		}
	}

	w.frontFor(allow("other-repos"))
	w.git(".", "clone", "-q", "https://"+host+"/"+secret, "safe")
	w.git("lib", "push", "-q", "https://"+host+"/"+lib, "fix")
	if w.at(lib, "refs/heads/fix") == "" {
		t.Error("the push did not come")
	}
}

func TestNoAnonymous(t *testing.T) {
	w := newWorld(t)
	w.frontFor(noAnonymous)
	out, err := w.run(".", "clone", "-q", "https://"+host+"/"+lib, "lib")
	if err == nil || !strings.Contains(out, "remote: ringfence: other repositories than alice/work are denied") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestRenamedRepository(t *testing.T) {
	w := newWorld(t)
	if err := os.Rename(w.bare(own), w.bare("alice/renamed")); err != nil {
		t.Fatal(err)
	}
	w.rename(own, "https://"+host+"/alice/renamed.git")
	w.clone("work")
	w.git("work", "switch", "-q", "-c", "fix")
	w.commit("work", "one")
	w.git("work", "push", "-q", "origin", "fix")
	if w.at("alice/renamed", "refs/heads/fix") == "" {
		t.Error("the push did not come")
	}
	w.rename(own, "https://elsewhere.test/alice/renamed.git")
	w.frontFor()
	if out, err := w.run(".", "ls-remote", "https://"+host+"/"+own+".git"); err == nil || !strings.Contains(out, "cannot be reached") {
		t.Errorf("%v: %s", err, out)
	}
	if e := w.lastEvent(); !strings.Contains(e.Reason, "sends us away, to elsewhere.test") {
		t.Errorf("journalled %+v", e)
	}
}
