package keeper

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// operation is one thing that is done inside, and what comes of it.
type operation struct {
	name   string
	host   string       // a script that makes the tree
	do     func() error // inside, in the tree
	err    string       // that do returns, by name
	want   string       // on the host afterwards
	inside string       // what is seen inside; "" for the same
	held   string       // the paths that became private
	upper  string       // what waits in the layer
	back   string       // what the host has after undo, where git keeps it; "" for what it had
}

func operations() []operation {
	return slices.Concat(files, names, attributes, ways, holding, live, corners, shapes)
}

func TestOperations(t *testing.T) {
	for _, o := range operations() {
		t.Run(o.name, func(t *testing.T) { o.play(t, newBox(t, o.host)) })
	}
}

// play does the operation in a box and looks at everything that came of it.
func (o operation) play(t *testing.T, b *box) {
	before := b.list("tree")
	b.start(o.name)
	a := b.finish()
	host := b.end()
	if a.Err != o.err {
		t.Errorf("inside it ended with %q, want %q", a.Err, o.err)
	}
	if host != o.want {
		t.Errorf("the host has\n\t%s, want\n\t%s", host, o.want)
	}
	seen := o.inside
	if seen == "" {
		seen = o.want
	}
	if a.List != seen {
		t.Errorf("inside it was\n\t%s, want\n\t%s", a.List, seen)
	}
	if held := strings.Join(b.held, " "); held != o.held {
		t.Errorf("held: %q, want %q", held, o.held)
	}
	if upper := b.list("upper"); upper != o.upper {
		t.Errorf("the layer has\n\t%s, want\n\t%s", upper, o.upper)
	}
	if _, err := os.Lstat(b.dir + "/stand"); err == nil {
		t.Error("the list of stand-ins is still there")
	}
	if o.back != "" {
		before, b.keeps = o.back, true
	}
	if back := b.restore(); back != before {
		t.Errorf("after undo the host has\n\t%s, had\n\t%s", back, before)
	}
}

// put opens with flags and writes.
func put(name string, flags int, data string) error {
	fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(data))
	return err
}

// inOrder stops at the first error.
func inOrder(steps ...func() error) func() error {
	return func() error {
		for _, s := range steps {
			if err := s(); err != nil {
				return err
			}
		}
		return nil
	}
}

// writing is put as a step.
func writing(name string, flags int, data string) func() error {
	return func() error { return put(name, flags, data) }
}

// refused wants an error and goes on.
func refused(want unix.Errno, step func() error) func() error {
	return func() error {
		if err := step(); err != want {
			return fmt.Errorf("got %v, want %v", err, want)
		}
		return nil
	}
}

const (
	create = unix.O_WRONLY | unix.O_CREAT
	fresh  = create | unix.O_EXCL
	over   = create | unix.O_TRUNC
)

var files = []operation{
	{name: "create", do: writing("a", create, "1"), want: "a=1"},
	{name: "write", host: "printf old >a", do: writing("a", unix.O_WRONLY, "n"), want: "a=nld"},
	{name: "overwrite", host: "printf old >a", do: writing("a", over, "n"), want: "a=n"},
	{name: "append", host: "printf old >a", do: writing("a", unix.O_WRONLY|unix.O_APPEND, "n"), want: "a=oldn"},
	{name: "exclusive", do: writing("a", fresh, "1"), want: "a=1"},
	{name: "exclusive, taken", host: "printf old >a", do: writing("a", fresh, "1"), err: "EEXIST", want: "a=old"},
	{name: "exclusive, taken by a link", host: "ln -s b a", do: writing("a", fresh, "1"), err: "EEXIST", want: "a->b"},
	{name: "write nothing", do: writing("a", unix.O_WRONLY, "1"), err: "ENOENT"},
	{name: "no directory", do: writing("d/a", create, "1"), err: "ENOENT"},
	{name: "a directory", host: "mkdir d", do: writing("d", unix.O_WRONLY, "1"), err: "EISDIR", want: "d/"},
	{name: "openat2", do: func() error {
		fd, err := unix.Openat2(unix.AT_FDCWD, "a", &unix.OpenHow{Flags: create, Mode: 0o600, Resolve: unix.RESOLVE_BENEATH})
		if err == nil {
			_, err = unix.Write(fd, []byte("1"))
		}
		return err
	}, want: "a(600)=1"},
	{name: "without a name", do: func() error {
		fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte("1"))
		return err
	}},
	{name: "truncate", host: "printf old >a", do: func() error { return unix.Truncate("a", 2) }, want: "a=ol"},
	{name: "truncate nothing", do: func() error { return unix.Truncate("a", 2) }, err: "ENOENT"},
	{name: "make and run", do: inOrder(writing("a", create, "#!/bin/sh\nexit 0\n"),
		func() error { return unix.Chmod("a", 0o755) }, run("./a")), want: "a(755)=#!/bin/sh\nexit 0\n"},
	{name: "umask", do: func() error {
		unix.Umask(0o077)
		err := put("a", create, "1")
		unix.Umask(0o002)
		return inOrder(func() error { return err }, writing("b", create, "2"), func() error { return unix.Mkdir("d", 0o777) }, modeOf("d", 0o775))()
	}, want: "a(600)=1 b(664)=2 d/"},
	{name: "set-user-ID", do: func() error {
		fd, err := unix.Open("a", create, 0o6755)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}, want: "a(755)="},
	{name: "second name on the host", host: "printf old >a; ln a b", do: writing("a", over, "new"), want: "a=new b=old"},
	{name: "second name of its own", do: inOrder(writing("a", create, "old"), func() error { return unix.Link("a", "b") },
		writing("a", over, "new")), want: "a=new b=new"},
	{name: "reserved", do: inOrder(refused(unix.EACCES, writing(".ringfence-x", create, "1")),
		refused(unix.EACCES, func() error { return unix.Mkdir(".ringfence-undo-1", 0o755) }))},
}

var names = []operation{
	{name: "mkdir", do: func() error { return unix.Mkdir("d", 0o755) }, want: "d/"},
	{name: "mkdir, slash", do: func() error { return unix.Mkdir("d///", 0o755) }, want: "d/"},
	{name: "mkdir, taken", host: "mkdir d", do: func() error { return unix.Mkdir("d", 0o755) }, err: "EEXIST", want: "d/"},
	{name: "rename", host: "printf 1 >a", do: func() error { return unix.Rename("a", "b") }, want: "b=1"},
	{name: "rename over", host: "printf 1 >a; printf 2 >b", do: func() error { return unix.Rename("a", "b") }, want: "b=1"},
	{name: "rename a directory", host: "mkdir d; printf 1 >d/a", do: func() error { return unix.Rename("d", "e/") }, want: "e/ e/a=1"},
	{name: "rename into itself", host: "mkdir d", do: func() error { return unix.Rename("d", "d/e") }, err: "EINVAL", want: "d/"},
	{name: "rename nothing", do: func() error { return unix.Rename("a", "b") }, err: "ENOENT"},
	{name: "exchange", host: "printf 1 >a; printf 2 >b", do: func() error {
		return unix.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, "b", unix.RENAME_EXCHANGE)
	}, err: "EINVAL", want: "a=1 b=2"},
	{name: "no replace", host: "printf 1 >a; printf 2 >b", do: func() error {
		return unix.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, "b", unix.RENAME_NOREPLACE)
	}, err: "EEXIST", want: "a=1 b=2"},
	{name: "whiteout", host: "printf 1 >a", do: func() error {
		return unix.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, "b", unix.RENAME_WHITEOUT)
	}, err: "EINVAL", want: "a=1"},
	{name: "link", host: "printf 1 >a", do: func() error { return unix.Link("a", "b") }, want: "a=1 b=1"},
	{name: "link from elsewhere", do: func() error { return unix.Link("/etc/passwd", "b") }, err: "EXDEV"},
	{name: "link a directory", host: "mkdir d", do: func() error { return unix.Link("d", "e") }, err: "EPERM", want: "d/"},
	{name: "symlink", do: func() error { return unix.Symlink("/etc/passwd", "l") }, want: "l->/etc/passwd"},
	{name: "unlink", host: "printf 1 >a", do: func() error { return unix.Unlink("a") }},
	{name: "unlink nothing", do: func() error { return unix.Unlink("a") }, err: "ENOENT"},
	{name: "unlink a directory", host: "mkdir d", do: func() error { return unix.Unlink("d") }, err: "EISDIR", want: "d/"},
	{name: "unlink, slash", host: "printf 1 >a", do: func() error { return unix.Unlink("a/") }, err: "ENOTDIR", want: "a=1"},
	{name: "rmdir", host: "mkdir d", do: func() error { return unix.Rmdir("d") }},
	{name: "rmdir, full", host: "mkdir d; printf 1 >d/a", do: func() error { return unix.Rmdir("d") }, err: "ENOTEMPTY", want: "d/ d/a=1"},
	{name: "rmdir a file", host: "printf 1 >a", do: func() error { return unix.Rmdir("a") }, err: "ENOTDIR", want: "a=1"},
	{name: "remove all", host: "mkdir -p d/e; printf 1 >d/e/a; ln -s / d/l", do: func() error { return os.RemoveAll("d") }},
	{name: "pipe", do: func() error { return unix.Mkfifo("p", 0o644) }, inside: "p?p---------", held: "p", upper: "p?Dc---------"},
	{name: "pipe, twice", do: inOrder(func() error { return unix.Mkfifo("p", 0o644) },
		refused(unix.EEXIST, func() error { return unix.Mkfifo("p", 0o644) }), func() error { return unix.Unlink("p") }), held: "p"},
	{name: "socket", do: func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "s"}); err != nil {
			return err
		}
		if err := unix.Listen(fd, 1); err != nil {
			return err
		}
		to, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Connect(to, &unix.SockaddrUnix{Name: "s"})
	}, inside: "s?S---------", held: "s", upper: "s?Dc---------"},
	{name: "socket, taken", host: "printf 1 >s", do: func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrUnix{Name: "s"})
	}, err: "EADDRINUSE", want: "s=1"},
}
