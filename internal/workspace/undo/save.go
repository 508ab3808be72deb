package undo

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/change"
)

func blobName(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

// inodeName is the name in the store of a file that had several names and was
// changed: whatever becomes of the name by which that was done, the others are to
// have their content back.
func inodeName(i ident) string {
	return strconv.FormatUint(i.ino, 10) + "-" + strconv.FormatUint(i.born, 10)
}

// Save is told of an existing entry, name in the directory parent, that is about
// to change. rel is where it is in the tree; for the root of the tree it is empty
// and name is ".". When Save returns, what was there before the session is kept,
// or the log says why not. An error in which unix.ENOENT is says that there is no
// such entry.
func (s *Store) Save(tree int, rel string, parent int, name string, how How) error {
	p := place{tree, rel}
	if rel != "" || tree < 0 || tree >= len(s.names.roots) {
		if err := s.check(p); err != nil {
			return err
		}
	}
	if kept, err := s.enough(p, how); kept || err != nil || mutated("store") {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.save(p, parent, name, how); err != nil {
		return fmt.Errorf("undo: save %q: %w", rel, err)
	}
	return nil
}

func (s *Store) enough(p place, how How) (bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false, ErrClosed
	}
	return s.names.enough(p, how), nil
}

// enough reports whether a change under this name loses nothing any more.
func (t *names) enough(p place, how How) bool {
	exact, cover, _ := t.find(p)
	if cover.state != orig && cover != exact || cover.state == ours {
		return true
	}
	if exact == nil || exact.obj == nil {
		return false
	}
	return exact.obj.enough(how) || exact.state == alias && how == Remove
}

// save does the quick things itself, under the lock. It gives the lock away while
// a content is copied.
func (s *Store) save(p place, parent int, name string, how How) error {
	var obj *object
	for {
		if s.names.enough(p, how) {
			return nil
		}
		if exact, _, _ := s.names.find(p); exact != nil {
			obj = exact.obj
		}
		if obj == nil || obj.saved&busy == 0 {
			break
		}
		s.free.Wait()
	}
	e, err := look(parent, name)
	if err != nil {
		return err
	}
	if how == Write && obj != nil && obj.saved&savedLink != 0 {
		return s.unshare(obj, parent, name, e)
	}
	if obj == nil {
		obj = &object{id: s.names.next} // the number that it will get
	}
	if e.many && how != Remove && how != Replace {
		unix.Linkat(parent, name, s.kept, inodeName(e.ident), 0) // where that can be done
	}
	img, got := e.image, savedNode
	switch {
	case img.kind == change.File && how != Mode:
		return s.saveFile(p, obj, parent, name, how, e)
	case img.kind == change.Symlink:
		if img.link, err = readLink(parent, name); err != nil {
			return err
		}
		got |= savedData
	case img.kind == change.Special:
		img.lost = "it is neither a file, a directory nor a link"
		got |= savedData
	case img.kind == change.Directory:
		got |= savedData
	}
	return s.finish(p, obj, e.dev, img, got)
}

// finish writes down what is kept, with the number of the object if that is new.
func (s *Store) finish(p place, obj *object, dev uint64, img image, got saved) error {
	if key := (inode{dev, img.ident}); img.many || s.inodes[key] != nil {
		img = s.shared(key, img)
	}
	r := &record{op: opImage, id: obj.id, image: img}
	fresh := obj.id == s.names.next
	var err error
	if fresh {
		err = s.log(&record{op: opTouch, from: p}, r)
	} else {
		err = s.log(r)
	}
	if err != nil {
		return err
	}
	if fresh {
		obj = s.names.own(p).obj
	}
	obj.saved |= got
	if img.blob != 0 {
		obj.blob = img.blob
		if _, name := split(p.rel); name == "HEAD" {
			s.heads[p] = img.blob
		}
	}
	if img.lost != "" && s.lost != nil {
		s.lost(p.tree, p.rel, img.lost)
	}
	return nil
}

// shared returns what a file with several names was before any of them was
// touched, with the content of now if that is new.
func (s *Store) shared(key inode, img image) image {
	first := s.inodes[key]
	if first == nil {
		s.inodes[key] = &img
		return img
	}
	if first.blob == 0 && first.lost == "" {
		first.blob, first.lost = img.blob, img.lost
	}
	return *first
}

func (s *Store) saveFile(p place, obj *object, parent int, name string, how How, e entry) error {
	img := e.image
	if first := s.inodes[inode{e.dev, e.ident}]; first != nil && (first.blob != 0 || first.lost != "") {
		return s.finish(p, obj, e.dev, img, savedNode|savedData)
	}
	switch {
	case img.size > s.limits.File:
		img.lost = fmt.Sprintf("its %d bytes are more than the %d that are kept of a file", img.size, s.limits.File)
	case img.size > s.limits.Total-s.sum:
		img.lost = fmt.Sprintf("its %d bytes are past the %d that are kept of a session", img.size, s.limits.Total)
	}
	if img.lost != "" {
		return s.finish(p, obj, e.dev, img, savedNode|savedData)
	}
	if how == Remove && !img.many && s.link(obj.id, parent, name, e) {
		img.blob = obj.id
		err := s.finish(p, obj, e.dev, img, savedNode|savedLink)
		if err != nil {
			unix.Unlinkat(s.kept, blobName(obj.id), 0)
			return err
		}
		s.sum += img.size
		return nil
	}
	return s.saveCopy(p, obj, parent, name, e)
}

// link keeps the inode itself. A file with other names is never kept so, and one
// that was opened for writing was copied before: nobody inside can change it.
func (s *Store) link(id uint32, parent int, name string, want entry) bool {
	blob := blobName(id)
	if unix.Linkat(parent, name, s.kept, blob, 0) != nil {
		return false
	}
	if e, err := look(s.kept, blob); err != nil || e.dev != want.dev || e.ident != want.ident {
		unix.Unlinkat(s.kept, blob, 0)
		return false
	}
	return true
}

// saveCopy copies a content. A file with one name is copied without the lock; one
// with several could meanwhile be written to under another name.
func (s *Store) saveCopy(p place, obj *object, parent int, name string, e entry) error {
	img := e.image
	if obj.id == s.names.next {
		if err := s.log(&record{op: opTouch, from: p}); err != nil {
			return err
		}
		obj = s.names.own(p).obj
	}
	obj.saved |= busy
	s.sum += img.size
	if !img.many {
		s.mu.Unlock()
	}
	err := s.copy(blobName(obj.id), parent, name, img.size)
	if !img.many {
		s.mu.Lock()
	}
	obj.saved &^= busy
	s.free.Broadcast()
	if err == unix.EACCES || err == unix.EPERM {
		err, img.lost = nil, "it cannot be read"
	} else if err == nil {
		img.blob = obj.id
	}
	if err == nil {
		err = s.finish(p, obj, e.dev, img, savedNode|savedData)
	}
	if err != nil || img.blob == 0 {
		s.sum -= img.size
	}
	if err == nil && img.blob != 0 {
		s.copies = append(s.copies, obj.id)
	}
	return err
}

// copy makes a file of the store from the content of another.
func (s *Store) copy(blob string, parent int, name string, size int64) error {
	src, err := openLockedAt(parent, name)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	temp := blob + ".new"
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_CLOEXEC | unix.O_NOFOLLOW
	dst, err := unix.Openat(s.kept, temp, flags, 0o600)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	err = sys.CopyData(dst, src, size)
	unix.Close(dst)
	if err == nil {
		err = unix.Renameat(s.kept, temp, s.kept, blob)
	}
	if err != nil {
		unix.Unlinkat(s.kept, temp, 0)
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}

// unshare gives the store a content of its own: a file that was to be removed is
// still there and is about to be written to.
func (s *Store) unshare(obj *object, parent int, name string, e entry) error {
	if was, err := look(s.kept, blobName(obj.blob)); err != nil {
		return err
	} else if was.dev != e.dev || was.ident != e.ident {
		obj.saved |= savedData
		return nil
	}
	if err := s.copy(blobName(obj.blob), parent, name, e.size); err != nil {
		return err
	}
	obj.saved |= savedData
	s.copies = append(s.copies, obj.blob)
	return nil
}
