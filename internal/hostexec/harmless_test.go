package hostexec

import (
	"strings"
	"testing"
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
		"[remote \"local\"]\n\turl = ../other\n",
		"[remote \"origin\"]\n\tfetch = +refs/heads/topic:refs/remotes/origin/topic\n",
		"[user]\n\tname = A B\n\temail = a@b.test\n",
		"[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone\n\tignorecase = false\n",
		"[submodule \"lib/a\"]\n\tactive = true\n\turl = https://forge.test/lib\n",
		"[lfs]\n\trepositoryformatversion = 0\n[lfs \"https://forge.test/a/info/lfs\"]\n\taccess = basic\n",
	} {
		if !Harmless(".git/config", []byte(plainOld), []byte(plainOld+add)) {
			t.Errorf("not harmless: %s", add)
		}
	}
	if gone, _, _ := strings.Cut(plainOld, "[branch"); !Harmless(".git/config", []byte(plainOld), []byte(gone)) {
		t.Error("a branch that is gone is not harmless")
	}
	for name, c := range map[string]string{
		"clone":     "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n[remote \"origin\"]\n\turl = https://forge.test/a\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
		"sha256":    "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n",
		"partial":   "[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = https://forge.test/a\n\tpromisor = true\n\tpartialclonefilter = blob:none\n",
		"submodule": "[core]\n\tworktree = ../../../lib\n",
	} {
		if !Harmless(".git/modules/lib/config", nil, []byte(c)) {
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
		"[remote \"a/b\"]\n\turl = https://evil.test/a\n",
		"[remote \"origin\"]\n\turl = https://evil.test/a\n", "[remote \"origin\"]\n\tpushurl = https://evil.test/a\n",
		"[branch \"main\"]\n\tremote = evil\n[remote \"evil\"]\n\turl = https://evil.test/a\n", "[branch \"main\"]\n\tpushRemote = origin\n",
		"[branch \"new\"]\n\tremote = https://evil.test/a\n", "[branch \"new\"]\n\tmergeOptions = -s x\n", "[branch]\n\tautosetuprebase = always\n",
		"[branch \"new\"]\n\tremote = evil\n[remote \"evil\"]\n\turl = https://evil.test/a\n",
		"[remote]\n\tpushDefault = x\n", "[submodule \"a\"]\n\tupdate = !id\n", "[submodule \"../a\"]\n\turl = https://a.test\n",
		"[submodule \"a/hooks\"]\n\turl = https://a.test\n", "[user]\n\tsigningkey = x\n", "[user]\n\tname = \"a\\nb\"\n",
		"[gpg]\n\tprogram = x\n", "[extensions]\n\tworktreeConfig = true\n", "[extensions]\n\tobjectformat = sha256\n",
		"[credential]\n\thelper = x\n", "[protocol \"ext\"]\n\tallow = always\n", "[lfs \"x\"]\n\taccess = basic\n", "[lfs]\n\turl = https://a.test\n",
		"[core]\r\n\tbare = true\n", "[core]\n\tbare = true\x1b\n", "[core", "x\n", "[core]\n\tx\\\n", "\x00",
	} {
		if Harmless(".git/config", []byte(plainOld), []byte(plainOld+add)) {
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
		if Harmless(".git/config", []byte(plainOld), []byte(new)) {
			t.Errorf("harmless: %s", name)
		}
	}
	for _, worktree := range []string{"/", "../../..", "../../../..", "../../../.git/x", "../../../../x", "/abs", "../../../.GIT/hooks"} {
		if Harmless(".git/modules/lib/config", nil, []byte("[core]\n\tworktree = "+worktree+"\n")) {
			t.Errorf("harmless: worktree %s", worktree)
		}
	}
}

func TestHarmlessPointers(t *testing.T) {
	const tree = "/home/u/proj"
	for _, tt := range []struct {
		tree, rel, new string
		want           bool
	}{
		{"", "lib/.git", "gitdir: ../.git/modules/lib\n", true},
		{"", "a/b/.git", "gitdir: ../../.git/modules/a/b\n", true},
		{"", "sup/lib/.git", "gitdir: ../.git/modules/lib\n", true},
		{tree, "wt/.git", "gitdir: /home/u/proj/.git/worktrees/wt\n", true},
		{"", "wt/.git", "gitdir: /home/u/proj/.git/worktrees/wt", true},
		{tree, ".claude/worktrees/w/.git", "gitdir: /home/u/proj/.git/worktrees/w\n", true},
		{"", "lib/.git", "gitdir: ../.git/modules/a/modules/b\n", true},
		{"", ".git", "gitdir: /home/u/proj/.git/worktrees/wt\n", false},
		{tree, "wt/.git", "gitdir: /home/u/other/.git/worktrees/wt\n", false},
		{tree, "wt/.git", "gitdir: /home/u/project/.git/worktrees/wt\n", false},
		{"", "lib/.git", "gitdir: ../evil\n", false},
		{"", "lib/.git", "gitdir: ../evil/.git/modules/lib\n", false},
		{"", "evil-x/.git", "gitdir: ../evil/.git/modules/lib\n", false},
		{"", "lib/.git", "gitdir: ../../.git/modules/lib\n", false},
		{"", "lib/.git", "gitdir: ../.git\n", false},
		{"", "lib/.git", "gitdir: ../.git/modules\n", false},
		{"", "lib/.git", "gitdir: ../.git/modules/a/refs/x\n", false},
		{"", "lib/.git", "gitdir: ../.git/modules/a/hooks\n", false},
		{"", "lib/.git", "gitdir: ../.git/worktrees/a/b\n", false},
		{"", "lib/.git", "gitdir: ../.git/objects/x\n", false},
		{"", "lib/.git", "gitdir: ../.git/modules/lib\nx\n", false},
		{"", "lib/.git", "gitdir: ../.git/modules/lib \n", false},
		{"", "lib/.git", "gitdir: ../.git/modules/li\x1bb\n", false},
		{"", "lib/.git", "gitdir: /p/x/../.git/modules/lib\n", false},
		{"", "lib/.git", strings.Repeat("\n", 9000) + "gitdir: ../.git/modules/lib\n", false},
		{"", "lib/.git", "../.git/modules/lib\n", false},
		{"", "lib/.git", "", false},
		{"", ".git/worktrees/wt/commondir", "../..\n", true},
		{"", ".git/worktrees/wt/commondir", "../../evil\n", false},
		{"", ".git/modules/wt/commondir", "../..\n", false},
		{"", ".git/commondir", "../..\n", false},
		{"", "evil/worktrees/wt/commondir", "../..\n", false},
		{"", ".git/worktrees/wt/gitdir", "/home/u/proj/wt/.git\n", true},
		{tree, ".git/worktrees/wt/gitdir", "/home/u/proj/wt/.git\n", true},
		{tree, ".git/worktrees/wt/gitdir", "/home/u/wt/.git\n", false},
		{tree, ".git/worktrees/wt/gitdir", "/home/u/proj/.git\n", false},
		{"", ".git/worktrees/wt/gitdir", "/home/u/proj/wt/x\n", false},
		{"", ".git/worktrees/wt/gitdir", "wt/.git\n", false},
		{"", ".git/hooks/pre-commit.sample", "#!/bin/sh\n", true},
		{"", ".git/hooks/pre-commit", "#!/bin/sh\n", false},
		{"", ".git/hooks/.sample", "#!/bin/sh\n", false},
		{"", ".git/hooks/a/b.sample", "x", false},
		{"", ".githooks/b.sample", "x", false},
		{"", "docs/HEAD", "ref: refs/heads/main\n", false},
		{"", ".git/info/attributes", "\n", false},
		{"", ".git/config.worktree", "[core]\n\tbare = false\n", false},
		{"", "foo/config", "[core]\n\tbare = false\n", false},
		{"", ".vscode/tasks.json", "{}", false},
		{"", ".git/x/../config", "[core]\n\tbare = false\n", false},
	} {
		if got := HarmlessIn(tt.tree, tt.rel, nil, []byte(tt.new)); got != tt.want {
			t.Errorf("%s %q in %q: %v", tt.rel, tt.new, tt.tree, got)
		}
	}
}

func TestHarmlessDeletions(t *testing.T) {
	for rel, want := range map[string]bool{
		".git/worktrees/wt/commondir": true, ".git/worktrees/wt/gitdir": true, ".git/hooks/a.sample": true, ".git/hooks/a": false,
		".git/config": false, ".git/info/attributes": false, "wt/.git": true, ".vscode/tasks.json": false, ".git": false,
	} {
		if got := Harmless(rel, []byte("gitdir: /p/.git/worktrees/wt\n"), nil); got != want {
			t.Errorf("%s: %v", rel, got)
		}
	}
	if Harmless("lib/.git", []byte("gitdir: ../.git/modules/lib\n"), nil) {
		t.Error("a submodule that is cut off is harmless")
	}
}

// FuzzHarmless: nothing that Inspect calls unasked is new in a harmless change,
// and the same text is harmless if it can be read.
func FuzzHarmless(f *testing.F) {
	f.Add([]byte(plainOld), []byte(plainOld+"[branch \"x\"]\n\tremote = origin\n"))
	f.Add([]byte(plainOld), []byte(plainOld+"[core]\n\tfsmonitor = x\n"))
	f.Add([]byte("[a]\nb=\"c\\\nd\"\n"), []byte("[a]b=c;x\n[remote \"x\"]url=https://a.test"))
	f.Add([]byte(nil), []byte("[core]\n\tbare\n"))
	f.Fuzz(func(t *testing.T, old, new []byte) {
		for _, rel := range []string{".git/config", ".git/modules/lib/config"} {
			if !Harmless(rel, old, new) {
				continue
			}
			if !Harmless(rel, new, new) || !Harmless(rel, nil, new) && len(old) == 0 && old == nil {
				t.Fatalf("%q is harmless as a change only", new)
			}
			for _, found := range Inspect(rel, old, new) {
				if found.Rank == Unasked && !strings.Contains(found.Why, `"core.worktree"`) {
					t.Fatalf("%q -> %q is harmless: %+v", old, new, found)
				}
			}
		}
		if _, err := parseConfig(new); err != nil && Harmless(".git/config", old, new) {
			t.Fatalf("%q cannot be read and is harmless", new)
		}
	})
}
