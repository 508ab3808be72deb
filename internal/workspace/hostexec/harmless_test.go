package hostexec

import (
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/file/settings"
)

const plainOld = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	hooksPath = .githooks
[remote "origin"]
	url = git@forge.test:a/b.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	merge = refs/heads/main
`

func TestHarmlessConfig(t *testing.T) {
	for _, add := range []string{
		"",
		"# a comment\n",
		"[branch \"topic\"]\n\tremote = origin\n\tmerge = refs/heads/topic\n\trebase = true\n\tvscode-merge-base = origin/main\n",
		"[branch \"a.b/c\"]\n\tremote = .\n\tmerge = refs/heads/main\n\tdescription = what it is for\n",
		"[remote \"fork\"]\n\turl = https://forge.test/x/y.git\n\tfetch = +refs/heads/*:refs/remotes/fork/*\n\ttagopt = --no-tags\n\tprune = true\n",
		"[remote \"up\"]\n\turl = ssh://git@forge.test:22/x\n\tpushurl = git@forge.test:x/y\n",
		"[remote \"origin\"]\n\tfetch = +refs/heads/topic:refs/remotes/origin/topic\n",
		"[user]\n\tname = A B\n\temail = a@b.test\n",
		"[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone\n\tignorecase = false\n",
		"[submodule \"lib/a\"]\n\tactive = true\n\turl = https://forge.test/lib\n",
		"[lfs]\n\trepositoryformatversion = 0\n[lfs \"https://forge.test/a/info/lfs\"]\n\taccess = basic\n",
	} {
		if !HarmlessConfig([]byte(plainOld), []byte(plainOld+add), nil) {
			t.Errorf("not harmless: %s", add)
		}
	}
	if gone, _, _ := strings.Cut(plainOld, "[branch"); !HarmlessConfig([]byte(plainOld), []byte(gone), nil) {
		t.Error("a branch that is gone is not harmless")
	}
	for name, c := range map[string]string{
		"clone":     "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n[remote \"origin\"]\n\turl = https://forge.test/a\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
		"sha256":    "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n",
		"partial":   "[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = https://forge.test/a\n\tpromisor = true\n\tpartialclonefilter = blob:none\n",
		"submodule": "[core]\n\tworktree = ../../../lib\n",
	} {
		if !HarmlessConfig(nil, []byte(c), lib) {
			t.Errorf("%s is not harmless", name)
		}
	}
}

func TestHarmfulConfig(t *testing.T) {
	for _, add := range []string{
		"[core]\n\tfsmonitor = x\n", "[core]\n\thooksPath = x\n", "[core]\n\tsshCommand = x\n", "[core]\n\tworktree = ../x\n",
		"[core]\n\trepositoryformatversion = 2\n", "[core]\n\tbare = maybe\n", "[alias]\n\ta = b\n", "[alias]\n\ta = !b\n",
		"[include]\n\tpath = x\n", "[filter \"x\"]\n\tclean = x\n", "[url \"https://evil.test\"]\n\tinsteadOf = https://forge.test\n",
		"[remote \"x\"]\n\turl = ext::sh -c id\n", "[remote \"x\"]\n\turl = -u\n", "[remote \"x\"]\n\turl = ssh://-oProxyCommand=x/y\n",
		"[remote \"x\"]\n\turl = -oProxyCommand=x:y\n", "[remote \"x\"]\n\turl = \"https://a.test/\\nb\"\n",
		"[remote \"x\"]\n\turl = foo::bar\n", "[remote \"x\"]\n\turl = ftp://a.test/x\n", "[remote \"x\"]\n\turl\n",
		"[remote \"x\"]\n\tuploadpack = id\n", "[remote \"x\"]\n\treceivepack = id\n", "[remote \"x\"]\n\tproxy = http://p.test\n",
		"[remote \"x\"]\n\tfetch = +refs/heads/*:refs/heads/*\n", "[remote \"x\"]\n\tfetch = +refs/*:refs/replace/*\n",
		"[remote \"x\"]\n\ttagopt = --upload-pack=x\n", "[remote \"x\"]\n\tmirror = true\n", "[remote \"x\"]\n\tpromisor = true\n",
		"[remote \"https://forge.test/a\"]\n\turl = https://evil.test/a\n", "[remote \"-x\"]\n\turl = https://a.test\n",
		"[remote \"a/b\"]\n\turl = https://evil.test/a\n", "[remote \"local\"]\n\turl = ../other\n", "[remote \"local\"]\n\turl = /home/x/private\n",
		"[remote \"x\"]\n\turl = https://a.test/a\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
		"[remote \"origin\"]\n\turl = https://evil.test/a\n", "[remote \"origin\"]\n\tpushurl = https://evil.test/a\n",
		"[branch \"main\"]\n\tremote = evil\n[remote \"evil\"]\n\turl = https://evil.test/a\n", "[branch \"main\"]\n\tpushRemote = origin\n",
		"[branch \"new\"]\n\tremote = https://evil.test/a\n", "[branch \"new\"]\n\tmergeOptions = -s x\n", "[branch]\n\tautosetuprebase = always\n",
		"[branch \"new\"]\n\tremote = evil\n[remote \"evil\"]\n\turl = https://evil.test/a\n",
		"[branch \"main\"]\n\tmerge = refs/heads/evil\n",
		"[core]\n\tbare = true\n", "[extensions]\n\tpreciousObjects = true\n",
		"[remote]\n\tpushDefault = x\n", "[submodule \"a\"]\n\tupdate = !id\n", "[submodule \"../a\"]\n\turl = https://a.test\n",
		"[submodule \"a/hooks\"]\n\turl = https://a.test\n", "[user]\n\tsigningkey = x\n", "[user]\n\tname = \"a\\nb\"\n",
		"[gpg]\n\tprogram = x\n", "[extensions]\n\tworktreeConfig = true\n", "[extensions]\n\tobjectformat = sha256\n",
		"[credential]\n\thelper = x\n", "[protocol \"ext\"]\n\tallow = always\n", "[lfs \"x\"]\n\taccess = basic\n", "[lfs]\n\turl = https://a.test\n",
		"[core]\r\n\tbare = true\n", "[core]\n\tbare = true\x1b\n", "[core", "x\n", "[core]\n\tx\\\n", "\x00",
	} {
		if HarmlessConfig([]byte(plainOld), []byte(plainOld+add), nil) {
			t.Errorf("harmless: %q", add)
		}
	}
	for name, new := range map[string]string{
		"another address": strings.Replace(plainOld, "forge.test", "evil.test", 1),
		"other hooks":     strings.Replace(plainOld, ".githooks", "x", 1),
		"no hooks":        strings.Replace(plainOld, "\thooksPath = .githooks\n", "", 1),
		"hooks twice":     strings.Replace(plainOld, "\thooksPath = .githooks\n", "\thooksPath = .githooks\n\thooksPath = .githooks\n", 1),
		"another remote":  strings.Replace(plainOld, "remote = origin", "remote = .", 1),
		"moved hooks":     strings.Replace(plainOld, "[core]", "[code]", 1),
	} {
		if HarmlessConfig([]byte(plainOld), []byte(new), nil) {
			t.Errorf("harmless: %s", name)
		}
	}
	for _, worktree := range []string{"/", "../../..", "../../../..", "../../../.git/x", "../../../../x", "/abs", "../../../.GIT/hooks"} {
		if HarmlessConfig(nil, []byte("[core]\n\tworktree = "+worktree+"\n"), lib) {
			t.Errorf("harmless: worktree %s", worktree)
		}
	}
}

// lib is a submodule's only right worktree.
func lib(value string) bool { return value == "../../../lib" }

// FuzzHarmless: nothing that Inspect calls unasked is new in a harmless change,
// and the same text is harmless if it can be read.
func FuzzHarmless(f *testing.F) {
	f.Add([]byte(plainOld), []byte(plainOld+"[branch \"x\"]\n\tremote = origin\n"))
	f.Add([]byte(plainOld), []byte(plainOld+"[core]\n\tfsmonitor = x\n"))
	f.Add([]byte("[a]\nb=\"c\\\nd\"\n"), []byte("[a]b=c;x\n[remote \"x\"]url=https://a.test"))
	f.Add([]byte(nil), []byte("[core]\n\tbare\n"))
	f.Fuzz(func(t *testing.T, old, new []byte) {
		for _, worktree := range []func(string) bool{nil, lib} {
			if !HarmlessConfig(old, new, worktree) {
				continue
			}
			if !HarmlessConfig(new, new, worktree) || !HarmlessConfig(nil, new, worktree) && len(old) == 0 && old == nil {
				t.Fatalf("%q is harmless as a change only", new)
			}
			for _, found := range Inspect(".git/config", old, new) {
				if found.Rank == Unasked && !(worktree != nil && strings.Contains(found.Why, `"core.worktree"`)) {
					t.Fatalf("%q -> %q is harmless: %+v", old, new, found)
				}
			}
		}
		if _, err := settings.ParseGit(new); err != nil && HarmlessConfig(old, new, nil) {
			t.Fatalf("%q cannot be read and is harmless", new)
		}
	})
}
