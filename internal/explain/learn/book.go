package learn

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/state"
)

const (
	bookVersion = 1
	maxBook     = 2 << 20
	keepFor     = 90 * 24 * time.Hour // what nobody learnt from since is forgotten
	day         = time.DateOnly
)

// Book is what the sessions of one project saw. It lies in the state directory, which
// no sandbox ever sees; its names are the agent's all the same.
type Book struct{ path, root string }

// Open names the book of a project. Nothing is read or made yet.
func Open(dir, root string) *Book {
	return &Book{filepath.Join(dir, "lessons", state.Key(root)+".json"), root}
}

type page struct {
	Version  int    `json:"version"`
	Root     string `json:"root"` // quoted: JSON has no way to hold a path that is not UTF-8
	Sessions int    `json:"sessions"`
	Seen
}

// Read returns what was seen so far, and in how many sessions.
func (b *Book) Read() (Seen, int, error) {
	p, err := b.read()
	return p.Seen, p.Sessions, err
}

// Add writes one more session down and returns all of them.
func (b *Book) Add(s Seen, now time.Time) (Seen, int, error) {
	dir := filepath.Dir(b.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Seen{}, 0, fmt.Errorf("keep the lesson: %w", err)
	}
	lock, err := file.LockDir(dir, unix.LOCK_EX)
	if err != nil {
		return Seen{}, 0, fmt.Errorf("keep the lesson: %w", err)
	}
	defer lock.Close()
	sweep(dir, now)
	p, err := b.read()
	if err != nil {
		return Seen{}, 0, err
	}
	p.Version, p.Root, p.Sessions = bookVersion, strconv.QuoteToASCII(b.root), p.Sessions+1
	p.Seen = join(p.Seen, s, now.UTC().Format(day))
	if err := write(b.path, p); err != nil {
		return Seen{}, 0, fmt.Errorf("keep the lesson: %w", err)
	}
	return p.Seen, p.Sessions, nil
}

// Forget removes the book.
func (b *Book) Forget() error {
	err := os.Remove(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (b *Book) read() (page, error) {
	data, err := file.ReadOwn(b.path, maxBook)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return page{}, nil
	case errors.Is(err, file.ErrNotOurs), errors.Is(err, file.ErrLong):
		return page{}, b.bad(errors.Unwrap(err))
	case err != nil:
		return page{}, fmt.Errorf("read lessons: %w", err)
	}
	p, err := decode(data)
	if err == nil && p.Root != strconv.QuoteToASCII(b.root) {
		err = fmt.Errorf("it is of %s", p.Root)
	}
	if err != nil {
		return page{}, b.bad(err)
	}
	return p, nil
}

func (b *Book) bad(err error) error {
	return fault.New(fault.Failed, "`ringfence learn --forget` begins anew", "lessons in %q: %w", b.path, err)
}

// decode takes exactly what encode makes.
func decode(data []byte) (page, error) {
	if len(data) > maxBook {
		return page{}, fmt.Errorf("larger than %d MiB", maxBook>>20)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var p page
	if err := d.Decode(&p); err != nil {
		return page{}, err
	}
	if p.Version != bookVersion {
		return page{}, fmt.Errorf("version %d, this ringfence reads %d", p.Version, bookVersion)
	}
	if err := p.check(); err != nil {
		return page{}, err
	}
	if again, err := encode(p); err != nil || !bytes.Equal(again, data) {
		return page{}, errors.New("not as ringfence writes it")
	}
	return p, nil
}

func encode(p page) ([]byte, error) {
	data, err := json.MarshalIndent(p, "", " ")
	return append(data, '\n'), err
}

func (p *page) check() error {
	if len(p.Paths) > maxPaths || len(p.Hosts) > maxHosts || len(p.Env) > maxEnv || p.Sessions < 1 {
		return errors.New("it holds more than is ever kept")
	}
	for _, x := range p.Paths {
		if !plain(x.Path) || !counted(x.Count, x.Last) {
			return fmt.Errorf("%q is no path that was seen", x.Path)
		}
	}
	for _, x := range p.Hosts {
		if _, err := address.ParseName(x.Name); err != nil || !counted(x.Count, x.Last) {
			return fmt.Errorf("%q is no host that was seen", x.Name)
		}
	}
	for _, x := range p.Env {
		if !plain(x.File) || !counted(x.Count, x.Last) {
			return fmt.Errorf("%q is no variable that was seen", x.Name)
		}
	}
	return nil
}

func counted(n int, last string) bool {
	_, err := time.Parse(day, last)
	return n > 0 && err == nil
}

// join adds one session to those before. What was seen most often stays when there is
// too much.
func join(old, s Seen, today string) Seen {
	out := Seen{More: old.More || s.More}
	out.Paths = joined(old.Paths, s.Paths, maxPaths, func(p Path) string { return p.Path }, func(have *Path, p Path) {
		have.Write, have.Open, have.Dir = have.Write || p.Write, have.Open || p.Open, p.Dir
		have.Count, have.Last = have.Count+1, today
	}, func(p Path) int { return p.Count })
	out.Hosts = joined(old.Hosts, s.Hosts, maxHosts, Host.String, func(have *Host, h Host) {
		have.Refused, have.Count, have.Last = h.Refused, have.Count+1, today
	}, func(h Host) int { return h.Count })
	out.Env = joined(old.Env, s.Env, maxEnv, func(v Variable) string { return v.Name }, func(have *Variable, v Variable) {
		have.File, have.Count, have.Last = v.File, have.Count+1, today
	}, func(v Variable) int { return v.Count })
	return out
}

func joined[T any](old, more []T, most int, key func(T) string, again func(have *T, now T), count func(T) int) []T {
	out := slices.Clone(old)
	at := map[string]int{}
	for i, x := range out {
		at[key(x)] = i
	}
	for _, x := range more {
		i, known := at[key(x)]
		if !known {
			i = len(out)
			out, at[key(x)] = append(out, x), i
		}
		again(&out[i], x)
	}
	if len(out) > most {
		slices.SortStableFunc(out, func(a, b T) int { return cmp.Compare(count(b), count(a)) })
		out = out[:most]
	}
	slices.SortFunc(out, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return out
}

// sweep forgets books that nobody wrote in for long.
func sweep(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() && now.Sub(st.ModTime()) > keepFor {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

func write(path string, p page) error {
	data, err := encode(p)
	if err != nil {
		return err
	}
	if len(data) > maxBook {
		return errors.New("there is too much of it")
	}
	return file.Replace(path, data, 0o600)
}
