package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// Result tells what became of a shadow.
type Result struct {
	Kept  string // where what stood there before lies now; "" if there was nothing
	Left  string // what was not put back, because something else stands there
	Fresh bool   // it was not there before
}

// Install puts a shadow in its place. What stands there is kept.
func (s Store) Install(sh Shadow) (Result, error) {
	if err := sh.check(); err != nil {
		return Result{}, err
	}
	r, unlock, err := s.open()
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	i := slices.IndexFunc(r.Shadows, func(o Shadow) bool { return o.Dir == sh.Dir && o.Name == sh.Name })
	if i < 0 {
		i = len(r.Shadows)
		r.Shadows = append(r.Shadows, sh)
	}
	sh.Kept = r.Shadows[i].Kept
	r.Shadows[i] = sh
	if err := s.makeDir(&r, sh.Dir); err != nil {
		return Result{}, errors.Join(err, s.forget(r, i))
	}
	d, err := openDir(sh.Dir)
	if err != nil {
		return Result{}, errors.Join(err, s.forget(r, i))
	}
	defer d.close()
	res, err := s.place(d, &r, i)
	if err != nil && r.Shadows[i].Kept == nil {
		err = errors.Join(err, s.forget(r, i))
	}
	return res, err
}

// forget takes a shadow that could not be made out of the record again.
func (s Store) forget(r Record, i int) error {
	if d, err := openDir(r.Shadows[i].Dir); err == nil {
		defer d.close()
		if w, _, err := d.look(r.Shadows[i].Name); err != nil || w == ours {
			return err // it was there before
		}
	}
	r.Shadows = slices.Delete(slices.Clone(r.Shadows), i, i+1)
	return s.close(r)
}

// makeDir makes the directory and those above it, having written down which.
func (s Store) makeDir(r *Record, path string) error {
	missing := absent(path)
	if len(missing) == 0 {
		return nil
	}
	r.Made = append(r.Made, missing...)
	if err := s.save(*r); err != nil {
		return err
	}
	for _, m := range missing {
		if err := os.Mkdir(m, 0o755); err != nil {
			return fmt.Errorf("make %q: %w", m, err)
		}
	}
	return nil
}

// place puts shadow i in its place, in the directory.
func (s Store) place(d *dir, r *Record, i int) (Result, error) {
	sh := &r.Shadows[i]
	if err := d.recover(*sh); err != nil {
		return Result{}, err
	}
	stands, id, err := d.look(sh.Name)
	if err != nil {
		return Result{}, err
	}
	aside, _, err := d.look(sh.kept())
	if err != nil {
		return Result{}, err
	}
	res := Result{Fresh: stands != ours}
	switch {
	case stands == other:
		return res, fault.New(fault.Refused, "take another directory with --dir", "%q is neither a file nor a link", sh)
	case stands == foreign && aside != nothing:
		if err := d.outdated(*sh); err != nil {
			return res, err
		}
		fallthrough
	case stands == foreign:
		sh.Kept = &id
	case aside == nothing:
		sh.Kept = nil
	}
	if sh.Kept != nil {
		res.Kept = filepath.Join(sh.Dir, sh.kept())
	}
	if err := s.save(*r); err != nil {
		return res, err
	}
	if err := d.put(sh.fresh(), sh.Script()); err != nil {
		return res, err
	}
	if stands == foreign {
		err = d.exchange(*sh)
	} else {
		err = d.move(sh.fresh(), sh.Name, stands == ours)
	}
	return res, errors.Join(err, d.sync())
}

// exchange puts the shadow in the place of what stands there, and that aside.
func (d *dir) exchange(sh Shadow) error {
	switch err := d.swap(sh.fresh(), sh.Name); {
	case err == nil:
		return d.move(sh.fresh(), sh.kept(), false)
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS):
		if err := d.move(sh.Name, sh.kept(), false); err != nil {
			return err
		}
		return d.move(sh.fresh(), sh.Name, false)
	default:
		return fmt.Errorf("put a shadow at %q: %w", sh, err)
	}
}

// outdated is for what was kept when the agent's own installer put another in the place
// of the shadow. A link is what the installer would have replaced; a file may be work.
func (d *dir) outdated(sh Shadow) error {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, sh.kept(), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return fault.New(fault.Refused, "remove the one that is not needed, and try again",
			"there are two: %q, and the older %q", sh, filepath.Join(sh.Dir, sh.kept()))
	}
	return d.remove(sh.kept())
}

// recover goes on where somebody was killed: what lies under the name for fresh shadows
// is either one, or what stood in the place of one and is not aside yet.
func (d *dir) recover(sh Shadow) error {
	w, id, err := d.look(sh.fresh())
	switch {
	case err != nil || w == nothing:
		return err
	case sh.Kept != nil && id == *sh.Kept:
		return d.move(sh.fresh(), sh.kept(), false)
	case w == other:
		return fault.New(fault.Refused, "", "%q is not ours", filepath.Join(d.path, sh.fresh()))
	}
	return d.remove(sh.fresh())
}

// Uninstall takes the shadows of an agent away, or of all with "", and puts back what
// they kept. There need be none.
func (s Store) Uninstall(agent string) (map[string]Result, error) {
	out := map[string]Result{}
	if err := s.file().Sweep(); err != nil {
		return nil, err
	}
	if r, err := s.Load(); err != nil || len(r.Shadows) == 0 && r.Made == nil {
		return out, errors.Join(err, s.removeEmpty())
	}
	r, unlock, err := s.open()
	if err != nil {
		return nil, err
	}
	defer unlock()
	var left []Shadow
	var fails error
	for _, sh := range r.Shadows {
		if agent != "" && sh.Agent != agent {
			left = append(left, sh)
			continue
		}
		res, err := restore(sh)
		if err != nil {
			fails = errors.Join(fails, err)
			left = append(left, sh)
			continue
		}
		out[sh.String()] = res
	}
	r.Shadows = left
	return out, errors.Join(fails, s.close(r))
}

// removeEmpty removes a record that says nothing.
func (s Store) removeEmpty() error {
	if r, err := s.Load(); err != nil || len(r.Shadows) > 0 {
		return err
	}
	if err := os.Remove(s.Path); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
		return err
	}
	return nil
}

// restore takes one away and puts back what it kept.
func restore(sh Shadow) (Result, error) {
	d, err := openDir(sh.Dir)
	if errors.Is(err, unix.ENOENT) {
		return Result{}, nil
	}
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	if err := d.recover(sh); err != nil {
		return Result{}, err
	}
	stands, _, err := d.look(sh.Name)
	if err != nil {
		return Result{}, err
	}
	aside, _, err := d.look(sh.kept())
	if err != nil {
		return Result{}, err
	}
	res := Result{}
	switch {
	case aside == nothing && stands == ours:
		err = d.remove(sh.Name)
	case aside == nothing:
	case stands == ours:
		res.Kept = sh.String()
		err = d.move(sh.kept(), sh.Name, true)
	case stands == nothing:
		res.Kept = sh.String()
		err = d.move(sh.kept(), sh.Name, false)
	default:
		if e := d.outdated(sh); e != nil {
			res.Left = filepath.Join(sh.Dir, sh.kept())
		}
	}
	return res, errors.Join(err, d.sync())
}
