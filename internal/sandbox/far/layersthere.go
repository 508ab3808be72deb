package far

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/upper"
)

// layerThere is a layer of the review at the far end, whose overlay is mounted.
type layerThere struct {
	sync.Mutex // one who asks at a time
	source     upper.Source
}

// errNoDir: a far end that was given no directory has no layers.
var errNoDir = errors.New("the far end has no directory for what waits for review")

// LayerDir is where a layer of the review is below the directory of a far end.
func LayerDir(dir string, n int) string { return filepath.Join(dir, strconv.Itoa(n), "upper") }

// receiveLayers makes the layers of a plan, with what they begin with, and lets the plan
// name them.
func (t *there) receiveLayers(p *plan.Plan) error {
	for n, o := range layersOf(p) {
		from, err := next[link.Lay](t.link)
		if err != nil {
			return err
		}
		if from.Header().(link.Lay).Layer != uint16(n) {
			return t.link.Broke("another layer than was due")
		}
		if t.Dir == "" {
			return errNoDir
		}
		if err := t.openDisk(); err != nil {
			return err
		}
		up := LayerDir(t.Dir, n)
		work := filepath.Join(filepath.Dir(up), "work")
		for _, d := range []string{up, work} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				return err
			}
		}
		if err := lay(from, up, string(o.Src)); err != nil {
			return err
		}
		from.Close()
		o.Upper, o.Work = plan.Raw(up), plan.Raw(work)
		t.layers = append(t.layers, &layerThere{source: upper.Source{Dir: up}})
	}
	return nil
}

// openDisk opens what the layers lie on.
func (t *there) openDisk() (err error) {
	if t.disk != nil {
		return nil
	}
	if err = os.MkdirAll(t.Dir, 0o700); err == nil {
		t.disk, err = os.Open(t.Dir)
	}
	return err
}

// makePrivate makes the directories of the sandbox's own that the plan leaves to this end.
// They begin with what is below them, and nothing of them comes back.
func (t *there) makePrivate(p *plan.Plan) error {
	for n := range p.Ops {
		o := &p.Ops[n]
		if o.Do != plan.DoCache || !o.There {
			continue
		}
		if t.Dir == "" {
			return errNoDir
		}
		at := filepath.Join(t.Dir, "own", strconv.Itoa(n))
		for _, d := range []struct {
			to   *plan.Raw
			name string
		}{{&o.Src, "alone"}, {&o.Upper, "upper"}, {&o.Work, "work"}} {
			*d.to = plan.Raw(filepath.Join(at, d.name))
			if err := os.MkdirAll(string(*d.to), 0o700); err != nil {
				return err
			}
		}
		o.ID = nil
	}
	return nil
}

// lay fills a layer. The root of the view has the mode of the upper directory.
func lay(from io.Reader, up, src string) error {
	into, err := sys.OpenSource(up)
	if err != nil {
		return err
	}
	defer unix.Close(into)
	if _, err := upper.Receive(from, into, -1, upper.Most); err != nil {
		return err
	}
	if st, err := os.Lstat(src); err == nil {
		return os.Chmod(up, st.Mode().Perm())
	}
	return nil
}

// overlay sends what a layer has.
func (t *there) overlay(s *link.Stream, h link.Overlay) {
	if int(h.Layer) >= len(t.layers) {
		s.Reset(link.Refused)
		return
	}
	l := t.layers[h.Layer]
	l.Lock()
	defer l.Unlock()
	if err := l.source.Send(s, h.Have, h.Whole); err != nil {
		s.Reset(link.Failed)
		return
	}
	s.Close()
}

// maxPut bounds the data of a late mask.
const maxPut = 4 << 20

// put writes a file into a layer.
func (t *there) put(s *link.Stream, h link.Put) {
	box := t.sandbox()
	data, err := file.ReadAll(s, maxPut)
	if err != nil || box == nil {
		s.Reset(link.Failed)
		return
	}
	placed, err := box.Put(string(h.Path), data)
	if err != nil {
		s.Reset(link.Failed)
		return
	}
	s.Write([]byte{byte(placed)})
	s.Close()
}
