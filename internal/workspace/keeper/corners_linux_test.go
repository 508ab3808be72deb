package keeper

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// corners are what tools do now and then.
var corners = []operation{
	{name: "move what stands for a name of another session", host: "mkdir -p d/e; ln -s " + Nowhere + " d/e/.envrc", do: renamed("d", "x"), err: "EXDEV", want: "d/ d/e/ d/e/.envrc->" + Nowhere},
	{name: "name for a file without one", do: func() error {
		fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, "a", unix.AT_SYMLINK_FOLLOW)
	}, err: "EXDEV"},
	{name: "rename onto a full directory", host: "mkdir d e; printf 1 >e/a", do: func() error { return unix.Rename("d", "e") }, err: "ENOTEMPTY", want: "d/ e/ e/a=1"},
	{name: "rename a file onto a directory", host: "mkdir d; printf 1 >a", do: func() error { return unix.Rename("a", "d") }, err: "EISDIR", want: "a=1 d/"},
	{name: "rename a directory onto a file", host: "mkdir d; printf 1 >a", do: func() error { return unix.Rename("d", "a") }, err: "ENOTDIR", want: "a=1 d/"},
	{name: "rename onto an empty directory", host: "mkdir -p d/x e", do: func() error { return unix.Rename("d", "e") }, want: "e/ e/x/"},
	{name: "rename to itself", host: "printf 1 >a", do: func() error { return unix.Rename("a", "a") }, want: "a=1"},
	{name: "rename to a second name", host: "printf 1 >a; ln a b", do: func() error { return unix.Rename("a", "b") }, want: "a=1 b=1"},
	{name: "rename out of the tree", host: "printf 1 >a", do: func() error { return unix.Rename("a", "../a") }, err: "EXDEV", want: "a=1"},
	{name: "rename the tree", do: func() error { return unix.Rename(".", "../x") }, err: "EXDEV"},
	{name: "remove the tree", do: func() error {
		wd, err := os.Getwd()
		if err != nil {
			return err
		}
		return unix.Rmdir(wd)
	}, err: "EBUSY"},
	{name: "not to be written", host: "printf 1 >a; chmod 444 a", do: writing("a", unix.O_WRONLY, "2"), err: "EACCES", want: "a(444)=1"},
	{name: "directory not to be written", host: "mkdir d; chmod 555 d", do: writing("d/a", create, "2"), err: "EACCES", want: "d/"},
	{name: "held by a link to it", host: "ln -s .envrc l", do: writing("l", create, "evil"),
		want: "l->.envrc", inside: ".envrc=evil l->.envrc", held: ".envrc", upper: ".envrc=evil"},
	{name: "held, all at once", do: func() error { return os.MkdirAll(".vscode/x/y", 0o755) },
		inside: ".vscode/ .vscode/x/ .vscode/x/y/", held: ".vscode", upper: ".vscode/ .vscode/x/ .vscode/x/y/"},
	{name: "held directory, removed", host: "mkdir -p .vscode/x; printf 1 >.vscode/x/a", do: func() error { return os.RemoveAll(".vscode") },
		held: ".vscode", upper: ".vscode?Dc---------"},
	{name: "above a held one", host: "mkdir d", do: inOrder(writing("d/.envrc", create, "evil"),
		refused(unix.EBUSY, func() error { return unix.Rename("d", "e") })),
		want: "d/", inside: "d/ d/.envrc=evil", held: "d/.envrc", upper: "d/ d/.envrc=evil"},
	{name: "above a held one, removed", host: "mkdir d", do: inOrder(writing("d/.envrc", create, "evil"), func() error { return os.RemoveAll("d") }),
		held: "d/.envrc", upper: "d/"},
}
