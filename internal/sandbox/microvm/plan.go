package microvm

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/microvm/guest"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// plan is the session's plan with the names that its files have in the
// guest. What the session keeps for itself (caches, the agent's own directories) begins there
// as it is here, and what becomes of it there goes with the guest: nothing in it can be
// written by the guest.
func (p Place) plan(session *plan.Plan) (*plan.Plan, error) {
	c := *session
	c.Ops = nil
	for _, o := range session.Ops {
		if ofGuest(string(o.Dst)) {
			if o.Do == plan.DoBind || o.Do == plan.DoLayer || o.Do == plan.DoCache {
				return nil, fault.New(fault.Refused, "move it, or --rung native", "on rung microvm %s cannot be shown: /dev and /proc are the guest's own there", plan.Show(string(o.Dst)))
			}
			c.Ops = append(c.Ops, o)
			continue
		}
		at := guest.ShareAt + o.Dst
		switch {
		case o.Do == plan.DoBind && o.Write:
			own, err := private(o)
			if err != nil {
				return nil, err
			}
			o = own
		case o.Do == plan.DoBind, o.Do == plan.DoLayer:
			o.Src, o.ID = at, nil
		case o.Do == plan.DoCache:
			o.Lower = slices.Clone(o.Lower)
			for n := range o.Lower {
				o.Lower[n] = guest.ShareAt + lowerAt(o.Dst, n+1)
			}
			o.Lower, o.There, o.ID = append(o.Lower, guest.ShareAt+lowerAt(o.Dst, 0)), true, nil
		}
		c.Ops = append(c.Ops, o)
	}
	return &c, nil
}

// maxPrivate bounds a file of the session's own.
const maxPrivate = 4 << 20

// private is what the session keeps for itself, and may write.
func private(o plan.Op) (plan.Op, error) {
	var st unix.Stat_t
	if err := unix.Lstat(string(o.Src), &st); err != nil {
		return o, fmt.Errorf("%q: %w", string(o.Src), err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return plan.Op{Do: plan.DoCache, Dst: o.Dst, Src: o.Dst, Upper: o.Dst, Work: o.Dst, Lower: []plan.Raw{guest.ShareAt + o.Dst}, There: true, Why: o.Why}, nil
	}
	f, err := os.OpenFile(string(o.Src), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return o, err
	}
	defer f.Close()
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return o, err
	}
	if o.ID != nil && (st.Dev != o.ID.Dev || st.Ino != o.ID.Ino) {
		return o, fmt.Errorf("%q is not the file that policy judged: it was replaced meanwhile", string(o.Src))
	}
	data, err := file.ReadRegular(f, maxPrivate)
	return plan.Op{Do: plan.DoFile, Dst: o.Dst, Data: data, Mode: st.Mode & 0o777, Write: true, Why: o.Why}, err
}
