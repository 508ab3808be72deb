package container

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
	"ringfence.dev/ringfence/internal/state"
)

// usualPath is that of an image that says nothing.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// imageInfo is what the engine knows of an image.
type imageInfo struct {
	ID     string `json:"Id"`
	Config struct {
		Env     []string
		Volumes map[string]struct{}
	}
}

// find looks an image up. It is never fetched: that is for a person to decide.
func (e *engine) find(ctx context.Context, name string) (imageInfo, error) {
	var i imageInfo
	err := e.call(ctx, "GET", "/images/"+escape(name)+"/json", nil, &i)
	var r *refusal
	switch {
	case errors.As(err, &r) && (r.status == http.StatusNotFound || r.status == http.StatusBadRequest):
		return i, fault.New(fault.Refused, e.name+" pull "+name, "the engine has no image %q", name)
	case err == nil && i.ID == "":
		return i, errors.New("the engine gives an image no number")
	}
	return i, err
}

// fits refuses an image that wants a volume where something of the host is shared: the
// engine would mount it over that, and make its mount point on the host, as root.
func (i imageInfo) fits(shares []mount) error {
	for v := range i.Config.Volumes {
		v = path.Clean("/" + v)
		for _, m := range shares {
			if file.Within(v, m.Target) || file.Within(m.Target, v) {
				return fault.New(fault.Refused, "make an image without that volume", "the image has a volume at %q, where %q of this machine is to be", v, m.Source)
			}
		}
	}
	return nil
}

// path is the image's PATH.
func (i imageInfo) path() string {
	for _, v := range i.Config.Env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok && p != "" {
			return p
		}
	}
	return usualPath
}

// Userland implements rung.Furnished: ringfence looks at the image from inside a
// container, in which no program of the image runs.
func (r Rung) Userland(ctx context.Context, dir string) (*rung.Userland, error) {
	if r.Image == "" {
		return nil, nil
	}
	if r.Confined {
		return nil, errConfinedImage()
	}
	e, a, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	i, err := e.find(ctx, r.Image)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	v, err := launch(ctx, e, newOrder(a, i.ID, state.NewID(), cgroup.Limits{}, nil), dir)
	if err != nil {
		return nil, err
	}
	defer v.end()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(ctx, v.conn.Shutdown)()
	if err := v.conn.Send(wire.Message{Kind: wire.Look}); err != nil {
		return nil, err
	}
	m, fds, err := v.conn.Receive()
	if err != nil || m.Kind != wire.Look || len(fds) > 0 {
		return nil, errors.Join(err, errors.New("the container does not say what the image has"))
	}
	u := &rung.Userland{Name: r.Image + " (" + i.ID + ")", Path: i.path()}
	for _, n := range m.System {
		u.System = append(u.System, plan.Node{Path: string(n.Path), Link: string(n.Link), Real: string(n.Real)})
	}
	if len(u.System) == 0 {
		return nil, fault.New(fault.Refused, "", "the image %q has nothing of an operating system", r.Image)
	}
	return u, nil
}

// open finds the engine and asks what it is.
func (r Rung) open(ctx context.Context) (*engine, about, error) {
	e, err := locate(r.Socket, os.Getenv)
	if err != nil {
		return nil, about{}, err
	}
	a, err := e.usable(ctx)
	return e, a, err
}
