package plan

import (
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Bwrap prints the nearest equivalent bubblewrap command as a bash script, to be
// compared with: it is the oracle, not the engine. What it cannot say (Landlock,
// the session keyring, a clean PID 1, limits) is missing there, not here.
func (p *Plan) Bwrap(w io.Writer) error {
	b := &bwrapScript{fd: 10}
	b.walls(p)
	for _, op := range p.Ops {
		b.op(op)
	}
	b.arg("--chdir", string(p.Process.Dir))
	b.arg("--clearenv")
	for _, e := range p.Process.Env {
		name, value, _ := strings.Cut(string(e), "=")
		b.arg("--setenv", name, value)
	}
	var out strings.Builder
	out.WriteString(bwrapHead + strings.Join(b.hides, "") + "exec bwrap")
	for _, line := range b.lines {
		out.WriteString(" \\\n  " + line)
	}
	out.WriteString(" \\\n  --")
	for _, a := range p.Process.Argv {
		out.WriteString(" " + shellQuote(string(a)))
	}
	for _, r := range b.redirects {
		out.WriteString(" \\\n  " + r)
	}
	_, err := io.WriteString(w, out.String()+"\n")
	return err
}

// bwrapHead knows how to mask: what is there becomes empty, and what is not gets
// no stub, which bubblewrap would leave on the host.
const bwrapHead = `#!/bin/bash
masks=()
hide() {
  if [ -d "$1" ]; then masks+=(--perms 0555 --tmpfs "$1" --remount-ro "$1")
  elif [ -e "$1" ]; then masks+=(--ro-bind /dev/null "$1")
  fi
}
`

type bwrapScript struct {
	lines     []string
	hides     []string
	redirects []string
	fd        int
}

func (b *bwrapScript) arg(words ...string) {
	for i, w := range words {
		if i > 0 {
			words[i] = shellQuote(w)
		}
	}
	b.lines = append(b.lines, strings.Join(words, " "))
}

// data hands bytes over through a descriptor.
func (b *bwrapScript) data(bytes []byte) string {
	n := b.fd
	b.fd++
	b.redirects = append(b.redirects, fmt.Sprintf("%d< <(base64 -d <<<'%s')", n, base64.StdEncoding.EncodeToString(bytes)))
	return strconv.Itoa(n)
}

func (b *bwrapScript) walls(p *Plan) {
	for _, w := range []Wall{WallUser, WallPID, WallIPC, WallUTS, WallNet, WallCgroup} {
		if slices.Contains(p.Walls, w) {
			b.arg("--unshare-" + string(w))
		}
	}
	if slices.Contains(p.Walls, WallUTS) {
		b.arg("--hostname", p.Hostname)
	}
	if slices.Contains(p.Walls, WallNested) {
		b.arg("--disable-userns")
	}
	if slices.Contains(p.Walls, WallCaps) {
		b.arg("--cap-drop", "ALL")
	}
	if slices.Contains(p.Walls, WallSeccomp) {
		b.arg("--seccomp", b.data(p.Seccomp))
	}
	b.arg("--uid", strconv.Itoa(p.UID))
	b.arg("--gid", strconv.Itoa(p.GID))
	b.arg("--die-with-parent")
	b.arg("--new-session")
}

func (b *bwrapScript) op(op Op) {
	dst := string(op.Dst)
	switch op.Do {
	case DoDir:
		b.arg("--perms", octal(op.Mode))
		b.arg("--dir", dst)
	case DoTmpfs:
		if dst == "/dev" {
			b.arg("--dev", dst)
			return
		}
		b.arg("--perms", octal(op.Mode))
		b.arg("--size", strconv.FormatInt(op.Size, 10))
		b.arg("--tmpfs", dst)
	case DoBind:
		if op.Write {
			b.arg("--bind", string(op.Src), dst)
		} else {
			b.arg("--ro-bind", string(op.Src), dst)
		}
	case DoCache:
		b.arg("--bind", string(op.Src), dst)
	case DoLayer:
		if !strings.HasPrefix(dst, Own) { // bubblewrap 0.8 has no overlay
			b.arg("--ro-bind", string(op.Src), dst)
		}
	case DoFile:
		b.arg("--perms", octal(op.Mode))
		b.arg("--ro-bind-data", b.data(op.Data), dst)
	case DoSymlink:
		if !strings.HasPrefix(dst, "/dev/") {
			b.arg("--symlink", string(op.Src), dst)
		}
	case DoProc:
		b.arg("--proc", dst)
	case DoMask:
		b.hides = append(b.hides, "hide "+shellQuote(dst)+"\n")
	case DoReadOnly:
		if dst == "/" {
			b.lines = append(b.lines, `"${masks[@]}"`)
			b.arg("--remount-ro", "/proc")
		}
		b.arg("--remount-ro", dst)
	case DoDevice, DoPts: // part of --dev
	}
}

func octal(mode uint32) string { return fmt.Sprintf("%04o", mode) }

func shellQuote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:=+,@%", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
