package keeper

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// run executes a program.
func run(argv ...string) func() error {
	return func() error {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
}

func modeOf(name string, want os.FileMode) func() error {
	return func() error {
		st, err := os.Stat(name)
		if err == nil && st.Mode().Perm() != want {
			err = fmt.Errorf("mode %o, want %o", st.Mode().Perm(), want)
		}
		return err
	}
}

var attributes = []operation{
	{name: "chmod", host: "printf 1 >a", do: func() error { return unix.Chmod("a", 0o600) }, want: "a(600)=1"},
	{name: "chmod, set-user-ID", host: "printf 1 >a", do: func() error { return unix.Chmod("a", 0o4755) }, err: "EPERM", want: "a=1"},
	{name: "chmod, set-group-ID", host: "printf 1 >a", do: func() error { return unix.Chmod("a", 0o2755) }, want: "a(755)=1"},
	{name: "chmod nothing", do: func() error { return unix.Chmod("a", 0o600) }, err: "ENOENT"},
	{name: "chmod by a link", host: "printf 1 >a; ln -s a l", do: func() error { return unix.Chmod("l", 0o600) }, want: "a(600)=1 l->a"},
	{name: "fchmod", host: "printf 1 >a", do: func() error {
		fd, err := unix.Open("a", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Fchmod(fd, 0o600)
	}, want: "a(600)=1"},
	{name: "chown to oneself", host: "printf 1 >a; ln -s nowhere l", do: inOrder(
		func() error { return unix.Chown("a", os.Getuid(), os.Getgid()) },
		func() error { return unix.Lchown("l", os.Getuid(), -1) }), want: "a=1 l->nowhere"},
	{name: "chown to another", host: "printf 1 >a", do: func() error { return unix.Chown("a", 12345, -1) }, err: "EINVAL", want: "a=1"},
	{name: "times", host: "printf 1 >a", do: func() error {
		want := unix.Timespec{Sec: 1000, Nsec: 5}
		if err := unix.UtimesNano("a", []unix.Timespec{want, want}); err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Stat("a", &st); err != nil || st.Mtim != want {
			return fmt.Errorf("%v %v", st.Mtim, err)
		}
		return nil
	}, want: "a=1"},
	{name: "times of a descriptor", host: "printf 1 >a", do: func() error {
		fd, err := unix.Open("a", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		if err := unix.Futimes(fd, []unix.Timeval{{Sec: 1000}, {Sec: 1000}}); err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Stat("a", &st); err != nil || st.Mtim.Sec != 1000 {
			return fmt.Errorf("%v %v", st.Mtim, err)
		}
		return nil
	}, want: "a=1"},
	{name: "access", host: "printf 1 >a; printf 2 >b; chmod 400 b", do: inOrder(
		func() error { return unix.Access("a", unix.W_OK) },
		func() error { return unix.Access(".", unix.W_OK) },
		refused(unix.EACCES, func() error { return unix.Access("b", unix.W_OK) }),
		refused(unix.ENOENT, func() error { return unix.Access("c", unix.W_OK) })), want: "a=1 b(400)=2"},
	{name: "extended attribute", host: "printf 1 >a",
		do: func() error { return unix.Setxattr("a", "user.x", []byte("1"), 0) }, err: "ENOTSUP", want: "a=1"},
}

// at runs a step with the descriptor of a directory.
func at(dir string, step func(fd int) error) func() error {
	return func() error {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return step(fd)
	}
}

// ways are paths that lead to the tree, or do not.
var ways = []operation{
	{name: "absolute", do: func() error {
		wd, err := os.Getwd()
		if err != nil {
			return err
		}
		return put(wd+"//.//a", create, "1")
	}, want: "a=1"},
	{name: "by descriptor", host: "mkdir d", do: at("d", func(fd int) error { return unix.Mkdirat(fd, "../d/e", 0o755) }), want: "d/ d/e/"},
	{name: "rename by descriptors", host: "mkdir d e; printf 1 >d/a", do: at("d", func(from int) error {
		return at("e", func(to int) error { return unix.Renameat(from, "a", to, "b") })()
	}), want: "d/ e/ e/b=1"},
	{name: "by another working directory", host: "mkdir d", do: func() error {
		if err := os.Chdir("d"); err != nil {
			return err
		}
		return put("../a", create, "1")
	}, want: "a=1 d/"},
	{name: "link above", host: "mkdir d; ln -s d l", do: writing("l/a", create, "1"), want: "d/ d/a=1 l->d"},
	{name: "links above links", host: "mkdir d; ln -s . l", do: writing("l/l/l/d/a", create, "1"), want: "d/ d/a=1 l->."},
	{name: "absolute link above", host: "mkdir d", do: func() error {
		wd, err := os.Getwd()
		if err != nil {
			return err
		}
		return inOrder(func() error { return unix.Symlink(wd+"/d", "l") }, writing("l/a", create, "1"), func() error { return unix.Unlink("l") })()
	}, want: "d/ d/a=1"},
	{name: "link to a file", host: "printf old >a; ln -s a l", do: writing("l", over, "1"), want: "a=1 l->a"},
	{name: "link to nothing yet", host: "ln -s a l", do: writing("l", create, "1"), want: "a=1 l->a"},
	{name: "link to itself", host: "ln -s l l", do: writing("l", create, "1"), err: "ELOOP", want: "l->l"},
	{name: "link not followed", host: "printf old >a; ln -s a l", do: writing("l", create|unix.O_NOFOLLOW, "1"), err: "ELOOP", want: "a=old l->a"},
	{name: "trailing slash", host: "printf old >a", do: inOrder(refused(unix.EISDIR, writing("b/", create, "1")),
		refused(unix.ENOTDIR, writing("a/", unix.O_WRONLY, "1"))), want: "a=old"},
	{name: "too long", do: writing(strings.Repeat("a/", 2500), create, "1"), err: "ENAMETOOLONG"},
	{name: "long name", do: writing(strings.Repeat("a", 256), create, "1"), err: "ENAMETOOLONG"},
	{name: "empty path", do: writing("", create, "1"), err: "ENOENT"},
	{name: "outside", do: func() error { // nothing is the keeper's there, and nothing but the tree is read-only
		if err := put("../outside", create, "1"); err != nil {
			return err
		}
		return unix.Unlink("../outside")
	}},
	{name: "own output", do: func() error {
		fd, err := unix.Open("log", create, 0o644)
		if err != nil {
			return err
		}
		if err := unix.Dup2(fd, 1); err != nil {
			return err
		}
		return inOrder(writing("/dev/stdout", unix.O_WRONLY|unix.O_APPEND, "1"), writing("/proc/self/fd/1", unix.O_WRONLY|unix.O_APPEND, "2"),
			writing("/dev/fd/1", unix.O_WRONLY|unix.O_APPEND, "3"))()
	}, want: "log=123"},
	{name: "shell", host: "mkdir src; printf 'a\\n' >src/a", do: run("sh", "-euc",
		`cd src; sed -i s/a/b/ a; cp a c; mkdir -p x/y; mv c x/y/; ln -s a l; echo more >>l; rm -rf x; touch t; >&2 echo`),
		want: "src/ src/a=b\nmore\n src/l->a src/t="},
}
