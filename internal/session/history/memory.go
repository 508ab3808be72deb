package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

const (
	maxMemory = 8 << 20
	maxCopies = 2000
)

// Copy is one conversation that was copied to the host.
type Copy struct {
	Session string    `json:"session"`
	When    time.Time `json:"when"`
	Path    string    `json:"path"`
	Was     int       `json:"was"` // its size before, 0: it was not there
	Now     int       `json:"now"`
	Sum     string    `json:"sum"` // of all of it
	Back    bool      `json:"back,omitempty"`
}

// memory is what is remembered of a project's conversations. The agent cannot reach it.
type memory struct {
	Seen   map[string][2]mark `json:"seen"` // on the host and inside, when they were last looked at
	Copies []Copy             `json:"copies"`

	path string
	lock *os.File
}

// openMemory reads it, in turn with others. What cannot be read is not taken for nothing:
// a conversation that the user removed would come back.
func openMemory(path string) (*memory, error) {
	lock, err := file.LockDir(filepath.Dir(path), unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	m := &memory{path: path, lock: lock, Seen: map[string][2]mark{}}
	text, err := file.ReadOwn(path, maxMemory)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m.Seen == nil {
		m.Seen = map[string][2]mark{}
	}
	return m, nil
}

func (m *memory) close() { m.lock.Close() }

func (m *memory) save() error {
	m.Copies = m.Copies[max(0, len(m.Copies)-maxCopies):]
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return file.Replace(m.path, text, 0o600)
}

// same holds for a conversation that neither side has touched since it was looked at.
func (m *memory) same(name string, host, inside *side) bool {
	now := [2]mark{host.mark(name), inside.mark(name)}
	return m.Seen[name] == now
}

func (m *memory) see(name string, host, inside *side) {
	m.Seen[name] = [2]mark{host.mark(name), inside.mark(name)}
}

// forget drops what neither side has any more: the names are the agent's, who may make any
// number of them.
func (m *memory) forget(host, inside *side) {
	maps.DeleteFunc(m.Seen, func(name string, _ [2]mark) bool {
		return host.mark(name) == mark{} && inside.mark(name) == mark{}
	})
}

func (m *memory) add(s Share, mv move) {
	m.Copies = append(m.Copies, Copy{Session: s.Session, When: time.Now(), Path: filepath.Join(s.Host, mv.name), Was: mv.was, Now: mv.now, Sum: sum(mv.text)})
}

// wanted reports whether a conversation is to be copied: not where we copied as much of it
// before, and a person removed it or took it back.
func (m *memory) wanted(name string, there bool, size int) bool {
	return !slices.ContainsFunc(m.Copies, func(c Copy) bool {
		return filepath.Base(c.Path) == name && c.Now >= size && (c.Back || !there)
	})
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}
