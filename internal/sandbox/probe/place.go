package probe

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// patience is for connections within one machine, which are made or refused at
// once.
const patience = 2 * time.Second

// absent wants ENOENT: EACCES would mean that it is there and only refused.
func absent(name, file string) (r Result, gone bool) {
	var st unix.Stat_t
	err := unix.Lstat(file, &st)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return Result{}, true
	case err != nil:
		return open(name, "%q is there and refused: %v", file, err), false
	}
	return open(name, "%q is there", file), false
}

// nothing wants nothing of the place to be found, by any way that leads there.
func nothing(name string) func(*Target) Result {
	return func(t *Target) Result {
		p := t.Places[name]
		for _, try := range []func(string, *Target, Place) (Result, bool){noSocket, noFile, noMatch, noLead} {
			if r, gone := try(name, t, p); !gone {
				return r
			}
		}
		return closed(name, "absent: %d files, %d sockets, %d patterns", len(p.Files), len(p.Sockets), len(p.Globs))
	}
}

func noSocket(name string, _ *Target, p Place) (Result, bool) {
	for _, s := range p.Sockets {
		if c, err := net.DialTimeout("unix", string(s), patience); err == nil {
			c.Close()
			return open(name, "a connection to %q was made", string(s)), false
		}
		if r, gone := absent(name, string(s)); !gone {
			return r, false
		}
	}
	return Result{}, true
}

func noFile(name string, t *Target, p Place) (Result, bool) {
	for _, f := range p.Files {
		if r, gone := absent(name, string(f)); !gone {
			if t.carries(readSome(string(f))) {
				r = open(name, "the canary was read from %q", string(f))
			}
			return r, false
		}
	}
	return Result{}, true
}

func noMatch(name string, _ *Target, p Place) (Result, bool) {
	for _, g := range p.Globs {
		m, err := filepath.Glob(string(g))
		if err != nil {
			return open(name, "%q: %v", string(g), err), false
		}
		if len(m) > 0 {
			return open(name, "%q is there", m[0]), false
		}
	}
	return Result{}, true
}

// noLead follows variables to a file or socket. One that leads nowhere is for the
// probes of the environment to judge.
func noLead(name string, _ *Target, p Place) (Result, bool) {
	for _, n := range p.Env {
		v := os.Getenv(n)
		for _, scheme := range []string{"unix:path=", "unix://"} {
			v = strings.TrimPrefix(v, scheme)
		}
		v, _, _ = strings.Cut(v, ",")
		if !filepath.IsAbs(v) {
			continue
		}
		if r, gone := absent(name, v); !gone {
			return open(name, "%s: %s", n, r.Detail), false
		}
	}
	return Result{}, true
}

// synthetic wants no file of the host's /etc that tells who lives here.
func synthetic(t *Target) Result {
	const name = "etc"
	for file, digest := range t.Contents {
		if b, err := os.ReadFile(file); err == nil && Digest(b) == digest {
			return open(name, "%s is the host's", file)
		}
	}
	return nothing(name)(t)
}

// harmless holds for what engines add to /dev and is no device: the message queues of an IPC
// namespace, and a link to what proc hides.
func harmless(name string) bool {
	var st unix.Statfs_t
	switch name {
	case "mqueue":
		return unix.Statfs("/dev/mqueue", &st) == nil && st.Type == mqueueMagic
	case "core":
		to, err := os.Readlink("/dev/core")
		return err == nil && to == "/proc/kcore"
	}
	return false
}

const mqueueMagic = 0x19800202

// devices wants a /dev of the few nodes that every program may expect.
func devices(t *Target) Result {
	const name = "devices"
	const expected = " null zero full random urandom tty ptmx pts shm fd stdin stdout stderr "
	entries, err := os.ReadDir("/dev")
	if err != nil {
		return open(name, "%v", err)
	}
	for _, e := range entries {
		if !strings.Contains(expected, " "+e.Name()+" ") && !(t.Built && harmless(e.Name())) {
			return open(name, "/dev has %q", e.Name())
		}
	}
	return closed(name, "%d entries", len(entries))
}
