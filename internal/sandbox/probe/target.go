package probe

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// maxTarget bounds a target; an answer may be as long.
const maxTarget = 256 << 10

// Path is a name of the host: any bytes, which JSON would not keep, so it
// travels in hexadecimal.
type Path string

// MarshalText implements encoding.TextMarshaler.
func (p Path) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString([]byte(p))), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Path) UnmarshalText(b []byte) error {
	raw, err := hex.DecodeString(string(b))
	if err != nil {
		return err
	}
	*p = Path(raw)
	return nil
}

// Place is where something of the host must not be found.
type Place struct {
	Files   []Path   `json:"files,omitempty"`   // must not exist
	Globs   []Path   `json:"globs,omitempty"`   // must match nothing
	Sockets []Path   `json:"sockets,omitempty"` // must not answer, nor exist
	Env     []string `json:"env,omitempty"`     // variables that must not lead to anything
}

// Target says what to look for: where, never what the secret is.
type Target struct {
	Canary     string            `json:"canary"` // its digest
	UID        int               `json:"uid"`    // of whoever looks
	Kernel     Kernel            `json:"kernel"` // the host's
	NS         map[string]uint64 `json:"ns"`     // the host's namespaces
	Root       Inode             `json:"root"`   // the host's
	Built      bool              `json:"built"`  // an engine made /dev, and adds to it what is no device
	Hostname   Path              `json:"hostname,omitempty"`
	Places     map[string]Place  `json:"places"`    // by the name of the probe
	Names      []string          `json:"names"`     // variables of the launcher's environment
	Contents   map[string]string `json:"contents"`  // files of the host in /etc, by path: their digest
	TCP        []string          `json:"tcp"`       // listeners on the host's loopback
	Abstract   string            `json:"abstract"`  // abstract socket of the host, without the NUL
	Key        string            `json:"key"`       // description of a key in the launcher's session keyring
	Segment    int               `json:"segment"`   // SysV shared memory of the host
	Process    int               `json:"process"`   // a process of the host, of the same user
	Keeper     int               `json:"keeper"`    // the process that keeps us: PID 1, or outside one like it
	Terminals  uint64            `json:"terminals"` // device number of the host's /dev/pts
	Own        Path              `json:"own"`       // where only Landlock forbids writing
	Workspace  Path              `json:"workspace"`
	Sibling    Path              `json:"sibling"`          // beside the workspace
	Proof      string            `json:"proof"`            // file to write in the workspace
	PrivateTmp []Path            `json:"privateTmp"`       // files of the host whose names are free inside
	Review     bool              `json:"review,omitempty"` // every change of the workspace waits; the witness outside says whether it does
	Ran        Path              `json:"ran"`              // file that is made when something of the session runs on the host

	inherited []descriptor // by us, from whoever started us
}

// Inode is one of this kernel's.
type Inode struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

// InodeOf looks one up.
func InodeOf(path string) (Inode, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return Inode{st.Dev, st.Ino}, err
}

// is says whether a path leads to it, or to who knows what.
func (i Inode) is(path string) bool {
	got, err := InodeOf(path)
	return err != nil || got == i
}

// DecodeTarget reads a target strictly: it comes through a pipe from outside, and
// a probe that looks for the wrong thing would say that all is well.
func DecodeTarget(r io.Reader) (*Target, error) {
	var t Target
	if err := decode(r, &t); err != nil {
		return nil, fmt.Errorf("decode target: %w", err)
	}
	if err := t.validate(); err != nil {
		return nil, fmt.Errorf("decode target: %w", err)
	}
	return &t, nil
}

func (t *Target) validate() error {
	if b, err := hex.DecodeString(t.Canary); err != nil || len(b) != 32 {
		return fmt.Errorf("canary %q is not a digest", t.Canary)
	}
	for _, k := range Kinds() {
		if t.NS[k] == 0 {
			return fmt.Errorf("no number of the host's %s namespace", k)
		}
	}
	if t.Root.Ino == 0 {
		return errors.New("no root of the host")
	}
	if t.Kernel.Build == "" {
		return errors.New("no kernel of the host")
	}
	if t.Process < 1 || t.Keeper < 1 {
		return fmt.Errorf("no process to look for (%d, %d)", t.Process, t.Keeper)
	}
	if t.Proof == "" || strings.ContainsAny(t.Proof, "/\x00") {
		return fmt.Errorf("proof %q is not a file name", t.Proof)
	}
	paths := append([]Path{t.Own, t.Workspace, t.Sibling, t.Ran}, t.PrivateTmp...)
	for _, p := range t.Places {
		paths = append(append(append(paths, p.Files...), p.Globs...), p.Sockets...)
	}
	if strings.ContainsAny(string(t.Ran), "'\"\\\n") {
		return fmt.Errorf("path %q cannot be quoted for a shell", string(t.Ran))
	}
	for _, p := range paths {
		if !path.IsAbs(string(p)) || strings.ContainsRune(string(p), 0) {
			return fmt.Errorf("path %q is not absolute", string(p))
		}
	}
	return nil
}

// decode reads exactly one JSON value of known fields.
func decode(r io.Reader, v any) error {
	b, err := io.ReadAll(io.LimitReader(r, maxTarget+1))
	if err != nil {
		return err
	}
	if len(b) > maxTarget {
		return fmt.Errorf("more than %d bytes", maxTarget)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.InputOffset() != int64(len(bytes.TrimRight(b, " \t\r\n"))) {
		return errors.New("bytes after the end")
	}
	return nil
}
