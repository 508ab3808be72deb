package keeper

import (
	"golang.org/x/sys/unix"
)

const aRepo = `mkdir -p .git/hooks .git/objects .git/refs; printf 'ref: refs/heads/main\n' >.git/HEAD; printf '[core]\n' >.git/config; `
const repoList = ".git/ .git/HEAD=ref: refs/heads/main\n .git/config=[core]\n .git/hooks/ .git/objects/ .git/refs/"

// holding is what the host would run unasked.
var holding = []operation{
	{name: "held, new", do: writing(".envrc", create, "evil"), inside: ".envrc=evil", held: ".envrc", upper: ".envrc=evil"},
	{name: "held, there", host: "printf good >.envrc", do: writing(".envrc", over, "evil"),
		want: ".envrc=good", inside: ".envrc=evil", held: ".envrc", upper: ".envrc=evil"},
	{name: "held, mode", host: "printf good >.envrc", do: func() error { return unix.Chmod(".envrc", 0o755) },
		want: ".envrc=good", inside: ".envrc(755)=good", held: ".envrc", upper: ".envrc(755)=good"},
	{name: "held directory", do: inOrder(func() error { return unix.Mkdir(".vscode", 0o755) }, writing(".vscode/tasks.json", create, "{}"),
		func() error { return unix.Mkdir(".vscode/x", 0o755) }, func() error { return unix.Rename(".vscode/tasks.json", ".vscode/x/t") }),
		inside: ".vscode/ .vscode/x/ .vscode/x/t={}", held: ".vscode", upper: ".vscode/ .vscode/x/ .vscode/x/t={}"},
	{name: "held directory twice", do: inOrder(func() error { return unix.Mkdir(".vscode", 0o755) },
		refused(unix.EEXIST, func() error { return unix.Mkdir(".vscode", 0o755) })),
		inside: ".vscode/", held: ".vscode", upper: ".vscode/"},
	{name: "held, made and removed", do: inOrder(writing(".envrc", create, "1"), func() error { return unix.Unlink(".envrc") },
		refused(unix.ENOENT, func() error { return unix.Unlink(".envrc") })), held: ".envrc"},
	{name: "held, made again", do: inOrder(writing(".envrc", create, "1"), func() error { return unix.Unlink(".envrc") },
		writing(".envrc", fresh, "2")), inside: ".envrc=2", held: ".envrc .envrc", upper: ".envrc=2"},
	{name: "held, removed", host: "printf good >.envrc", do: func() error { return unix.Unlink(".envrc") }},
	{name: "held by rename", host: "printf evil >a", do: func() error { return unix.Rename("a", ".envrc") },
		inside: ".envrc=evil", held: ".envrc", upper: ".envrc=evil"},
	{name: "held by exchange", host: "printf evil >a; printf good >.envrc", do: func() error {
		return unix.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, ".envrc", unix.RENAME_EXCHANGE)
	}, err: "EINVAL", want: ".envrc=good a=evil"},
	{name: "held by link", host: "printf evil >a", do: func() error { return unix.Link("a", ".envrc") }, err: "EXDEV", want: "a=evil"},
	{name: "held by symlink", host: "printf evil >a", do: func() error { return unix.Symlink("a", ".envrc") }, err: "EACCES", want: "a=evil"},
	{name: "held by pipe", do: func() error { return unix.Mkfifo(".envrc", 0o644) }, err: "EACCES"},
	{name: "held by directory", host: "mkdir d; printf evil >d/tasks.json", do: func() error { return unix.Rename("d", ".vscode") },
		err: "EXDEV", want: "d/ d/tasks.json=evil"},
	{name: "held under another name", host: "printf good >.envrc", do: inOrder(refused(unix.EXDEV, func() error { return unix.Link(".envrc", "a") }),
		refused(unix.EBUSY, func() error { return unix.Rename(".envrc", "a") })), want: ".envrc=good"},
	{name: "held, other spelling", do: writing(".ENVRC", create, "evil"), inside: ".ENVRC=evil", held: ".ENVRC", upper: ".ENVRC=evil"},
	{name: "config as git writes it", host: aRepo, do: inOrder(writing(".git/config.lock", fresh, "[core]\nx=1\n"),
		func() error { return unix.Rename(".git/config.lock", ".git/config") }),
		want: repoList, inside: ".git/ .git/HEAD=ref: refs/heads/main\n .git/config=[core]\nx=1\n .git/hooks/ .git/objects/ .git/refs/",
		held: ".git/config", upper: ".git/ .git/config=[core]\nx=1\n"},
	{name: "config in place", host: aRepo, do: writing(".git/config", unix.O_WRONLY|unix.O_APPEND, "x=1\n"),
		want: repoList, inside: ".git/ .git/HEAD=ref: refs/heads/main\n .git/config=[core]\nx=1\n .git/hooks/ .git/objects/ .git/refs/",
		held: ".git/config", upper: ".git/ .git/config=[core]\nx=1\n"},
	{name: "config deleted", host: aRepo, do: func() error { return unix.Unlink(".git/config") },
		want: repoList, inside: ".git/ .git/HEAD=ref: refs/heads/main\n .git/config= .git/hooks/ .git/objects/ .git/refs/",
		held: ".git/config", upper: ".git/ .git/config?Dc---------"},
	{name: "hook", host: aRepo, do: inOrder(writing(".git/hooks/pre-commit", create, "evil"), func() error { return unix.Chmod(".git/hooks/pre-commit", 0o755) }),
		want: repoList, inside: ".git/ .git/HEAD=ref: refs/heads/main\n .git/config=[core]\n .git/hooks/ .git/hooks/pre-commit(755)=evil .git/objects/ .git/refs/",
		held: ".git/hooks", upper: ".git/ .git/hooks/ .git/hooks/pre-commit(755)=evil"},
	{name: "lock of the host", host: aRepo + "printf h >.git/config.lock", do: inOrder(
		refused(unix.EBUSY, writing(".git/config.lock", unix.O_WRONLY, "evil")),
		refused(unix.EBUSY, func() error { return unix.Link(".git/config.lock", "a") })),
		want: ".git/ .git/HEAD=ref: refs/heads/main\n .git/config.lock=h .git/config=[core]\n .git/hooks/ .git/objects/ .git/refs/"},
	{name: "git directory moved", host: aRepo, do: func() error { return unix.Rename(".git", "x") }, err: "EBUSY", want: repoList},
	{name: "bare repository", host: "mkdir r; printf 'ref: refs/heads/main\n' >r/HEAD", do: writing("r/config", create, "evil"),
		want: "r/ r/HEAD=ref: refs/heads/main\n", inside: "r/ r/HEAD=ref: refs/heads/main\n r/config=evil", held: "r/config", upper: "r/ r/config=evil"},
	{name: "new repository", host: "mkdir sub", do: inOrder(func() error { return unix.Mkdir("sub/.git", 0o755) }, writing("sub/.git/config", create, "evil")),
		want: "sub/", inside: "sub/ sub/.git/ sub/.git/config=evil", held: "sub/.git", upper: "sub/ sub/.git/ sub/.git/config=evil"},
}
