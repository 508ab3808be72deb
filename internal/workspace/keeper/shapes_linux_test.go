package keeper

import (
	"strings"

	"golang.org/x/sys/unix"
)

var (
	commit = strings.Repeat("0123456789", 4)
	ref    = commit + "\n"
)

// inRepo is repoList with more in it, in the order of a listing.
func inRepo(after string, more string) string {
	return strings.Replace(repoList, after, after+" "+more, 1)
}

func renamed(from, to string) func() error { return func() error { return unix.Rename(from, to) } }
func mkdir(dir string) func() error        { return func() error { return unix.Mkdir(dir, 0o755) } }

// shapes is what may come into a git directory of the host, and what may not.
var shapes = []operation{
	{name: "reference as git writes it", host: aRepo + "mkdir .git/refs/heads", do: inOrder(writing(".git/refs/heads/main.lock", fresh, ref),
		renamed(".git/refs/heads/main.lock", ".git/refs/heads/main")), want: repoList + " .git/refs/heads/ .git/refs/heads/main=" + ref, back: repoList + " .git/refs/heads/ .git/refs/heads/main=" + ref},
	{name: "reference in place", host: aRepo + "mkdir .git/refs/heads", do: writing(".git/refs/heads/main", create, ref),
		want: repoList + " .git/refs/heads/", inside: repoList + " .git/refs/heads/ .git/refs/heads/main=" + ref, held: ".git/refs/heads/main",
		upper: ".git/ .git/refs/ .git/refs/heads/ .git/refs/heads/main=" + ref},
	{name: "reference that is none", host: aRepo + "mkdir .git/refs/heads", do: inOrder(writing(".git/refs/heads/x.lock", fresh, "[core]\n"),
		renamed(".git/refs/heads/x.lock", ".git/refs/heads/x")), want: repoList + " .git/refs/heads/",
		inside: repoList + " .git/refs/heads/ .git/refs/heads/x=[core]\n", held: ".git/refs/heads/x",
		upper: ".git/ .git/refs/ .git/refs/heads/ .git/refs/heads/x=[core]\n"},
	{name: "reference that is still open", host: aRepo + "mkdir .git/refs/heads", do: func() error {
		fd, err := unix.Open(".git/refs/heads/main.lock", fresh|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return err
		}
		return inOrder(func() error { _, err := unix.Write(fd, []byte(ref)); return err }, renamed(".git/refs/heads/main.lock", ".git/refs/heads/main"),
			func() error { _, err := unix.Pwrite(fd, []byte("evil"), 0); return err })()
	}, want: repoList + " .git/refs/heads/ .git/refs/heads/main=" + ref, back: repoList + " .git/refs/heads/ .git/refs/heads/main=" + ref},
	{name: "reference with a second name", host: aRepo + "mkdir .git/refs/heads", do: inOrder(writing("a", fresh, ref),
		func() error { return unix.Link("a", ".git/refs/heads/main.lock") }, renamed(".git/refs/heads/main.lock", ".git/refs/heads/main"),
		writing("a", over, "evil")), want: repoList + " .git/refs/heads/ .git/refs/heads/main=" + ref + " a=evil",
		back: repoList + " .git/refs/heads/ .git/refs/heads/main=" + ref},
	{name: "reference that would get one", host: aRepo + "mkdir .git/refs/heads; echo " + commit + " >.git/refs/heads/main",
		do: inOrder(refused(unix.EXDEV, func() error { return unix.Link(".git/refs/heads/main", "a") }),
			refused(unix.EXDEV, renamed(".git/refs/heads/main", "a"))), want: repoList + " .git/refs/heads/ .git/refs/heads/main=" + ref},
	{name: "reference deleted", host: aRepo + "mkdir .git/refs/heads; echo " + commit + " >.git/refs/heads/main",
		do: func() error { return unix.Unlink(".git/refs/heads/main") }, want: repoList + " .git/refs/heads/", back: repoList + " .git/refs/heads/"},
	{name: "directory above a submodule moves", host: aRepo + "mkdir -p dir/sub; echo gitdir: x >dir/sub/.git", do: refused(unix.EXDEV, renamed("dir", "dir2")),
		want: repoList + " dir/ dir/sub/ dir/sub/.git=gitdir: x\n"},
	{name: "HEAD deleted", host: aRepo, do: func() error { return unix.Unlink(".git/HEAD") }, want: repoList,
		inside: strings.Replace(repoList, "HEAD=ref: refs/heads/main\n", "HEAD=", 1), held: ".git/HEAD", upper: ".git/ .git/HEAD?Dc---------"},
	{name: "index that writes a hook", host: aRepo, do: inOrder(writing(".git/index.lock", fresh, "DIRC\x00\x00\x00\x02\x00\x00\x00\x00evil"),
		renamed(".git/index.lock", ".git/index")), want: repoList, inside: inRepo(".git/hooks/", ".git/index=DIRC\x00\x00\x00\x02\x00\x00\x00\x00evil"),
		held: ".git/index", upper: ".git/ .git/index=DIRC\x00\x00\x00\x02\x00\x00\x00\x00evil"},
	{name: "loose object", host: aRepo, do: inOrder(mkdir(".git/objects/ab"), writing(".git/objects/ab/tmp_obj_x", fresh, "z"),
		func() error { return unix.Link(".git/objects/ab/tmp_obj_x", ".git/objects/ab/"+commit[2:]) }, func() error { return unix.Unlink(".git/objects/ab/tmp_obj_x") }),
		want: strings.Replace(repoList, ".git/objects/", ".git/objects/ .git/objects/ab/ .git/objects/ab/"+commit[2:]+"=z", 1),
		back: strings.Replace(repoList, ".git/objects/", ".git/objects/ .git/objects/ab/ .git/objects/ab/"+commit[2:]+"=z", 1)},
	{name: "git directory below objects", host: aRepo, do: inOrder(mkdir(".git/objects/gg"), writing(".git/objects/gg/HEAD", create, "ref: refs/heads/x\n"),
		writing(".git/objects/gg/commondir", create, "../cc\n")), want: repoList,
		inside: strings.Replace(repoList, ".git/objects/", ".git/objects/ .git/objects/gg/ .git/objects/gg/HEAD=ref: refs/heads/x\n .git/objects/gg/commondir=../cc\n", 1),
		held:   ".git/objects/gg", upper: ".git/ .git/objects/ .git/objects/gg/ .git/objects/gg/HEAD=ref: refs/heads/x\n .git/objects/gg/commondir=../cc\n"},
	{name: "settings below objects", host: aRepo, do: inOrder(mkdir(".git/objects/cc"), writing(".git/objects/cc/config", create, "evil")),
		want:   strings.Replace(repoList, ".git/objects/", ".git/objects/ .git/objects/cc/", 1),
		inside: strings.Replace(repoList, ".git/objects/", ".git/objects/ .git/objects/cc/ .git/objects/cc/config=evil", 1),
		held:   ".git/objects/cc/config", upper: ".git/ .git/objects/ .git/objects/cc/ .git/objects/cc/config=evil"},
	{name: "link below history", host: aRepo + "mkdir .git/logs", do: func() error { return unix.Symlink("../..", ".git/logs/lnk") }, err: "EACCES", want: inRepo(".git/hooks/", ".git/logs/")},
	{name: "settings below history", host: aRepo + "mkdir -p .git/logs/refs/heads/g", do: writing(".git/logs/refs/heads/g/config", create, "evil"),
		want:   inRepo(".git/hooks/", ".git/logs/ .git/logs/refs/ .git/logs/refs/heads/ .git/logs/refs/heads/g/"),
		inside: inRepo(".git/hooks/", ".git/logs/ .git/logs/refs/ .git/logs/refs/heads/ .git/logs/refs/heads/g/ .git/logs/refs/heads/g/config=evil"),
		held:   ".git/logs/refs/heads/g/config", upper: ".git/ .git/logs/ .git/logs/refs/ .git/logs/refs/heads/ .git/logs/refs/heads/g/ .git/logs/refs/heads/g/config=evil"},
	{name: "unknown name in a git directory", host: aRepo, do: writing(".git/zz", create, "1"), want: repoList, inside: repoList + " .git/zz=1",
		held: ".git/zz", upper: ".git/ .git/zz=1"},
	{name: "directory into a git directory", host: aRepo + "mkdir d", do: renamed("d", ".git/refs/d"), err: "EXDEV", want: repoList + " d/"},
	{name: "pipe in a git directory", host: aRepo, do: func() error { return unix.Mkfifo(".git/FETCH_HEAD", 0o644) }, err: "EACCES", want: repoList},
	{name: "module with a history name", host: "mkdir -p .git/modules/x/logs/y; echo 'ref: refs/heads/m' >.git/modules/x/logs/y/HEAD",
		do: writing(".git/modules/x/logs/y/commondir", create, "evil"), want: ".git/ .git/modules/ .git/modules/x/ .git/modules/x/logs/ .git/modules/x/logs/y/ .git/modules/x/logs/y/HEAD=ref: refs/heads/m\n",
		inside: ".git/ .git/modules/ .git/modules/x/ .git/modules/x/logs/ .git/modules/x/logs/y/ .git/modules/x/logs/y/HEAD=ref: refs/heads/m\n .git/modules/x/logs/y/commondir=evil",
		held:   ".git/modules/x/logs/y/commondir", upper: ".git/ .git/modules/ .git/modules/x/ .git/modules/x/logs/ .git/modules/x/logs/y/ .git/modules/x/logs/y/commondir=evil"},
	{name: "new worktree", host: aRepo, do: inOrder(mkdir(".git/worktrees"), mkdir(".git/worktrees/wt"), writing(".git/worktrees/wt/HEAD", create, ref)),
		want: repoList + " .git/worktrees/", inside: repoList + " .git/worktrees/ .git/worktrees/wt/ .git/worktrees/wt/HEAD=" + ref,
		held: ".git/worktrees/wt", upper: ".git/ .git/worktrees/ .git/worktrees/wt/ .git/worktrees/wt/HEAD=" + ref},
	{name: "submodules with a hidden character", do: inOrder(writing(".gitmodules.lock", fresh, "[submodule \"a\"]\n\tpath = \"a\\r\"\n"), renamed(".gitmodules.lock", ".gitmodules")),
		inside: ".gitmodules=[submodule \"a\"]\n\tpath = \"a\\r\"\n", held: ".gitmodules", upper: ".gitmodules=[submodule \"a\"]\n\tpath = \"a\\r\"\n"},
	{name: "submodules as git writes them", do: inOrder(writing(".gitmodules.lock", fresh, "[submodule \"a\"]\n\tpath = a\n\turl = ../a.git\n"), renamed(".gitmodules.lock", ".gitmodules")),
		want: ".gitmodules=[submodule \"a\"]\n\tpath = a\n\turl = ../a.git\n"},
}
