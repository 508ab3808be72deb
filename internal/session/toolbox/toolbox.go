// Package toolbox keeps the tools that were fetched for a project: programs that the host
// does not have. They are fetched in a sandbox of their own, looked at as a tree and never
// run outside, and shown read-only to the sessions of that project, behind all else on PATH.
package toolbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/state"
)

// Dir is where sessions see the tools: each in a directory of its own, and their commands.
const (
	Dir = launch.ToolsDir
	Bin = launch.ToolsBin
)

const (
	shownName   = launch.ToolsShown
	recordsName = "records"
	newPrefix   = "new-" // what is being fetched

	maxRecords  = 1 << 20
	maxKept     = 128 // tools of one project
	maxCommands = 256 // commands of one tool
)

// Box is the tools of one project, in its state.
type Box struct{ dir string }

// Of is the box of the project whose root this is. Its state must be there.
func Of(d state.Dirs, root string) Box {
	return Box{launch.ToolBox(d, root)}
}

// Shown is the directory that sessions see as Dir.
func (b Box) Shown() string { return filepath.Join(b.dir, shownName) }

// Make makes an empty box where there is none: a session has the mount from its start, so
// that what is added later appears in it.
func (b Box) Make() error {
	bin := filepath.Join(b.Shown(), "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return err
	}
	err := os.Symlink(filepath.Join(launch.ClientDir, Client), filepath.Join(bin, Client))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Record is one tool that is there.
type Record struct {
	Tool     string    `json:"tool"` // as policy.ParseTool reads it
	ID       string    `json:"id"`   // of its directory
	Commands []string  `json:"commands"`
	Size     int64     `json:"size"`
	Added    time.Time `json:"added"`
}

// List is what is there, by name.
func (b Box) List() ([]Record, error) {
	data, err := file.Read(filepath.Join(b.dir, recordsName), maxRecords, unix.O_NOFOLLOW)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []Record
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	for _, r := range all {
		if _, bad := policy.ParseTool(r.Tool); bad != nil || !validID(r.ID) || slices.ContainsFunc(r.Commands, func(c string) bool { return !validCommand(c) }) {
			err = errors.New("a record is not what was written")
		}
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "empty it, and fetch them again: ringfence tools rm SOURCE:NAME", "the list of this project's tools cannot be read: %w", err)
	}
	return all, nil
}

// Find is one of them, or nil. One whose commands are not all there counts as none, as after
// a crash while it was fetched anew: it is fetched again.
func (b Box) Find(t policy.Tool) (*Record, error) {
	all, err := b.List()
	for i := range all {
		if all[i].Tool == t.String() && b.whole(&all[i]) {
			return &all[i], err
		}
	}
	return nil, err
}

func (b Box) whole(r *Record) bool {
	for _, c := range r.Commands {
		text, err := file.Read(filepath.Join(b.Shown(), "bin", c), maxScript, unix.O_NOFOLLOW)
		if err != nil || !strings.Contains(string(text), filepath.Join(Dir, r.ID)+"/") {
			return false
		}
	}
	return true
}

// maxScript bounds a script: it has the directories of libraries in it.
const maxScript = 1 << 20

func validID(id string) bool {
	return len(id) > 4 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// validCommand takes what is a plain word to every shell.
func validCommand(name string) bool {
	const first = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return name != "" && name != Client && len(name) <= 128 && strings.Trim(name, first+"._+-") == "" && strings.ContainsRune(first, rune(name[0]))
}

// Fetch is a tool that is being fetched, into a directory that no session sees.
type Fetch struct {
	box  Box
	lock *os.File
	Tool policy.Tool
	ID   string
}

// Begin makes room for a tool. Nobody else changes the box until End; what others left
// half-done goes.
func (b Box) Begin(t policy.Tool) (*Fetch, error) {
	if err := b.Make(); err != nil {
		return nil, err
	}
	f, err := b.begin(t)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(b.sweep(), os.Mkdir(f.Outside(), 0o700)); err != nil {
		f.End()
		return nil, err
	}
	return f, nil
}

func (b Box) begin(t policy.Tool) (*Fetch, error) {
	lock, err := file.LockDir(b.dir, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fault.New(fault.Refused, "try again when it has ended", "another tool is being fetched for this project")
	}
	if err != nil {
		return nil, err
	}
	return &Fetch{box: b, lock: lock, Tool: t, ID: state.NewID()}, nil
}

// Outside is where the tool's files come to lie while it is fetched.
func (f *Fetch) Outside() string { return filepath.Join(f.box.dir, newPrefix+f.ID) }

// Inside is the same directory where it is fetched and where it is used: programs write
// their own place down.
func (f *Fetch) Inside() string { return filepath.Join(Dir, f.ID) }

// End lets others go on. What was not kept is gone.
func (f *Fetch) End() error {
	err := f.box.sweep()
	return errors.Join(err, f.lock.Close())
}

// sweep removes what no record names.
func (b Box) sweep() error {
	all, err := b.List()
	if err != nil {
		return err
	}
	for _, dir := range []string{b.dir, b.Shown()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			known := e.Name() == "bin" || slices.ContainsFunc(all, func(r Record) bool { return r.ID == e.Name() })
			if dir == b.dir && !strings.HasPrefix(e.Name(), newPrefix) || dir == b.Shown() && known {
				continue
			}
			if err := file.RemoveTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Kept is what became of a tool.
type Kept struct {
	Record
	Left []string // what of it is not offered, with the reason
}

// Keep looks at what was fetched and takes it in. Nothing of it is run or followed.
func (f *Fetch) Keep(now time.Time) (Kept, error) {
	found, err := inspect(f.Outside(), f.Inside())
	if err != nil {
		return Kept{}, fault.New(fault.Refused, "", "%s is not kept: %w", f.Tool, err)
	}
	return f.keep(found, now)
}

func (f *Fetch) keep(found tree, now time.Time) (out Kept, err error) {
	all, err := f.box.List()
	if err != nil {
		return out, err
	}
	all = slices.DeleteFunc(all, func(r Record) bool { return r.Tool == f.Tool.String() })
	if len(all) >= maxKept {
		return out, fault.New(fault.Refused, "remove some: ringfence tools rm SOURCE:NAME", "a project has at most %d tools", maxKept)
	}
	out = Kept{Record: Record{Tool: f.Tool.String(), ID: f.ID, Size: found.size, Added: now.UTC().Truncate(time.Second)}, Left: found.left}
	scripts := map[string]string{}
	for _, c := range found.commands {
		if i := slices.IndexFunc(all, func(r Record) bool { return slices.Contains(r.Commands, c.name) }); i >= 0 {
			out.Left = append(out.Left, fmt.Sprintf("%s: %s has it already", c.name, all[i].Tool))
			continue
		}
		out.Commands = append(out.Commands, c.name)
		scripts[c.name] = c.script(found.needs)
	}
	if len(out.Commands) == 0 {
		return out, fault.New(fault.Refused, "name a package that has a program", "%s is not kept: it has no command of its own", f.Tool)
	}
	if len(out.Commands) > maxCommands {
		return out, fault.New(fault.Refused, "", "%s is not kept: it has more than %d commands", f.Tool, maxCommands)
	}
	records, err := encode(append(all, out.Record))
	if err != nil {
		return out, err
	}
	if err := os.Rename(f.Outside(), filepath.Join(f.box.Shown(), f.ID)); err != nil {
		return out, err
	}
	for _, name := range out.Commands {
		if err := file.Replace(filepath.Join(f.box.Shown(), "bin", name), []byte(scripts[name]), 0o700); err != nil {
			return out, err
		}
	}
	// Last: what the list names is there whole.
	if err := f.box.write(records); err != nil {
		return out, err
	}
	return out, f.box.unlink()
}

// encode refuses what List would not read: a box that cannot be read has no tools at all.
func encode(all []Record) ([]byte, error) {
	all = slices.SortedFunc(slices.Values(all), func(x, y Record) int { return strings.Compare(x.Tool, y.Tool) })
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, err
	}
	if len(data) >= maxRecords {
		return nil, fault.New(fault.Refused, "remove some: ringfence tools rm SOURCE:NAME", "the tools of this project have too many commands")
	}
	return append(data, '\n'), nil
}

func (b Box) write(records []byte) error {
	return file.Replace(filepath.Join(b.dir, recordsName), records, 0o600)
}

// unlink removes commands that no tool has any more.
func (b Box) unlink() error {
	all, err := b.List()
	if err != nil {
		return err
	}
	bin := filepath.Join(b.Shown(), "bin")
	entries, err := os.ReadDir(bin)
	for _, e := range entries {
		if e.Name() != Client && !slices.ContainsFunc(all, func(r Record) bool { return slices.Contains(r.Commands, e.Name()) }) {
			err = errors.Join(err, os.Remove(filepath.Join(bin, e.Name())))
		}
	}
	return err
}

// Remove removes a tool. A program of it that runs goes on without its files. Where the list
// cannot be read, all of them go: that is reported.
func (b Box) Remove(t policy.Tool) (emptied bool, err error) {
	if _, err := os.Lstat(b.dir); err != nil {
		return false, fault.New(fault.Refused, "ringfence tools ls", "this project has no tool %s", t)
	}
	f, err := b.begin(t)
	if err != nil {
		return false, err
	}
	all, err := b.List()
	if err != nil {
		err = errors.Join(os.RemoveAll(filepath.Join(b.dir, recordsName)), b.unlink())
		return true, errors.Join(err, f.End())
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return r.Tool == t.String() })
	if len(rest) == len(all) {
		err = fault.New(fault.Refused, "ringfence tools ls", "this project has no tool %s", t)
	} else if records, bad := encode(rest); bad != nil {
		err = bad
	} else if err = b.write(records); err == nil {
		err = b.unlink()
	}
	return false, errors.Join(err, f.End())
}
