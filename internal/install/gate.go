package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// The places on a machine.
const (
	GateSettings = "/etc/claude-code/managed-settings.json"
	GateRecord   = "/var/lib/ringfence/managed.json"
)

// maxSettings bounds the file of settings.
const maxSettings = 1 << 20

// Gate is the settings of a machine or of a user, and the record of what was done to them.
type Gate struct {
	Settings string
	Record   string
	Program  string // the ringfence that hooks call
	// Bare is for one user's agent without a sandbox instead; Strict has more rules for it.
	Bare, Strict bool
}

// rules are what goes into the settings.
func (g Gate) rules() []rule {
	if g.Bare {
		return bareRules(g.Program, g.Strict)
	}
	return gateRules(g.Program)
}

// gateState says how the settings were, and what was made of them.
type gateState struct {
	Made    []string     `json:"made,omitempty"`   // directories
	Edit    settingsEdit `json:"edit"`             // of the settings
	Strict  bool         `json:"strict,omitempty"` // which rules they are
	File    string       `json:"file,omitempty"`   // the settings; "": those that everybody has
	Existed bool         `json:"existed"`          // there was a file
	Before  []byte       `json:"before,omitempty"` // what it held
	Mode    uint32       `json:"mode,omitempty"`
	Written string       `json:"written,omitempty"` // digest of what was made of it
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Plan says what Install would write; nil if nothing changes.
func (g Gate) Plan() ([]byte, error) {
	now, _, err := g.read()
	if err != nil {
		return nil, err
	}
	out, _, err := g.merged(now)
	if err != nil || bytes.Equal(out, now) {
		return nil, err
	}
	return out, nil
}

// read returns the settings, nil if there are none, and their mode.
func (g Gate) read() ([]byte, uint32, error) {
	f, err := os.OpenFile(g.Settings, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o644, nil
	}
	if err != nil {
		return nil, 0, fault.New(fault.Refused, "", "read the settings: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, 0, fault.New(fault.Refused, "", "%q is not a file", g.Settings)
	}
	data, err := file.ReadAll(f, maxSettings)
	if err != nil {
		return nil, 0, fmt.Errorf("read %q: %w", g.Settings, err)
	}
	return data, uint32(st.Mode().Perm()), checkSettings(data, g.Settings)
}

// merged is the settings with the gate in them.
func (g Gate) merged(now []byte) ([]byte, settingsEdit, error) {
	if now == nil {
		now = []byte("{}\n")
	}
	out, edit, err := mergeRules(now, g.rules())
	if err != nil {
		return nil, settingsEdit{}, err
	}
	return out, edit, checkSettings(out, g.Settings)
}

// Install puts the gate into the settings. It may be there already.
func (g Gate) Install() error {
	if _, _, err := g.read(); err != nil {
		return err // before anything is made
	}
	file := footprint{Path: g.Record}
	unlock, err := file.Lock(func(made []string) ([]byte, error) { return json.Marshal(gateState{Made: made}) })
	if err != nil {
		return err
	}
	defer unlock()
	r, err := g.load(file)
	if err != nil {
		return err
	}
	if r.File != "" && r.File != g.Settings {
		return fault.New(fault.Refused, "ringfence uninstall claude, then again", "the rules are in %q", r.File)
	}
	now, mode, err := g.read()
	if err != nil {
		return err
	}
	switch {
	case r.Written == "":
		r.Before, r.Existed, r.Mode = now, now != nil, mode
	case digest(now) != r.Written && !bytes.Equal(now, r.Before):
		// Somebody edited them since: what is theirs is what we have to give back.
		if now != nil {
			now = removeRules(now, r.Edit)
		}
		r.Before, r.Existed, r.Mode = now, now != nil, mode
	default:
		now = r.Before
	}
	out, edit, err := g.merged(now)
	if err != nil {
		return err
	}
	r.Edit, r.Written, r.Strict, r.File = edit, digest(out), g.Strict, g.Settings
	missing := absent(filepath.Dir(g.Settings))
	r.Made = append(r.Made, missing...)
	if err := save(file, r); err != nil {
		return err
	}
	for _, dir := range missing {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	return writeFile(g.Settings, out, os.FileMode(r.Mode))
}

func (g Gate) load(file footprint) (gateState, error) {
	var r gateState
	data, err := file.Read()
	if err != nil || data == nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fault.New(fault.Refused, "", "%q: %w", file.Path, err)
	}
	if r.File != "" && (!filepath.IsAbs(r.File) || filepath.Clean(r.File) != r.File) {
		return r, fault.New(fault.Refused, "", "%q: %q is no file of settings", file.Path, r.File)
	}
	for _, d := range r.Made {
		if !filepath.IsAbs(d) || filepath.Clean(d) != d {
			return r, fault.New(fault.Refused, "", "%q: %q is no directory that was made", file.Path, d)
		}
	}
	return r, nil
}

func save(file footprint, r gateState) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(file.Path, append(data, '\n'), 0o600)
}

// Installed reports whether the settings were written to, and with which rules.
func (g Gate) Installed() (was, strict bool, err error) {
	r, err := g.load(footprint{Path: g.Record})
	return r.Written != "", r.Strict, err
}

// Recorded is the gate in the settings that were written to, whichever are meant now.
func (g Gate) Recorded() (Gate, error) {
	r, err := g.load(footprint{Path: g.Record})
	if r.File != "" {
		g.Settings = r.File
	}
	return g, err
}

// Uninstall takes the gate out. It reports whether there was one.
func (g Gate) Uninstall() (bool, error) {
	g, err := g.Recorded()
	if err != nil {
		return false, err
	}
	file := footprint{Path: g.Record}
	if err := errors.Join(file.Sweep(), (footprint{Path: g.Settings}).Sweep()); err != nil {
		return false, err
	}
	if data, err := file.Read(); err != nil || data == nil {
		return false, err
	}
	unlock, err := file.Lock(func(made []string) ([]byte, error) { return json.Marshal(gateState{Made: made}) })
	if err != nil {
		return false, err
	}
	defer unlock()
	r, err := g.load(file)
	if err != nil {
		return false, err
	}
	if err := g.restore(r); err != nil {
		return false, err
	}
	return true, file.Remove(r.Made)
}

// restore gives back what was there, or takes our rules out of what is there now.
func (g Gate) restore(r gateState) error {
	now, mode, err := g.read()
	if err != nil {
		return err
	}
	switch {
	case now == nil, r.Written == "", r.Existed && bytes.Equal(now, r.Before):
		return nil // somebody was killed before they were written
	case digest(now) == r.Written && !r.Existed:
		return os.Remove(g.Settings)
	case digest(now) == r.Written:
		return writeFile(g.Settings, r.Before, os.FileMode(r.Mode))
	}
	out := removeRules(now, r.Edit)
	if !r.Existed && strings.Trim(string(out), "{} \t\r\n") == "" {
		return os.Remove(g.Settings)
	}
	if bytes.Equal(out, now) {
		return nil
	}
	return writeFile(g.Settings, out, os.FileMode(mode))
}
