package registries

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/door"
	"ringfence.dev/ringfence/internal/session/launch"
)

// taker is a door with the requests that are its own.
type taker interface {
	http.Handler
	Takes(*http.Request) bool
}

// servedHost is a door at a host's own name, where TLS ends. A company has many
// registries at one host.
type servedHost struct {
	name address.Name
	base *url.URL
	by   namer
	door func(launch.Gateway) taker
	read bool // it is a mirror without a door: what is below it is read as it is
}

// serve opens a door at the name of a registry.
func (ds *doors) serve(name address.Name, base *url.URL, by namer, door func(launch.Gateway) taker) {
	ds.hosts = append(ds.hosts, servedHost{name, base, by, door, false})
}

// open makes a host the broker's, once for all of its doors. What only a project names
// stands behind all others; of the rest, the nearest of a path is first.
func (ds *doors) open() {
	slices.SortStableFunc(ds.hosts, func(a, b servedHost) int {
		return cmp.Or(order(a.read, b.read), order(a.by == project, b.by == project), order(a.base.Port() != "", b.base.Port() != ""), len(b.base.Path)-len(a.base.Path))
	})
	of := map[address.Name][]servedHost{}
	for _, h := range ds.hosts {
		of[h.name] = append(of[h.name], h)
	}
	many := 0
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if of[name][0].by == project {
			if many++; many > maxProjectHosts {
				continue
			}
		}
		ds.Brokered.Soft = append(ds.Brokered.Soft, ds.soft(name, of[name]))
	}
	if many > maxProjectHosts {
		ds.Warn(fmt.Sprintf("files of the project name registries at %d hosts: %d of them have no door, and the rules alone say whether they are reached", many, many-maxProjectHosts))
	}
}

// maxProjectHosts bounds for how many hosts the broker speaks because a project names them:
// it can speak for 256 in all.
const maxProjectHosts = 64

// order has what is not so before what is.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// soft is a name with its doors. Being the broker's opens the way to what the user names.
func (ds *doors) soft(name address.Name, all []servedHost) launch.SoftHost {
	first, ruled := all[0], true
	for _, h := range all {
		if h.by == user && ruled {
			first, ruled = h, false
		}
	}
	return launch.SoftHost{Name: name, Port: first.base.Port(), Ruled: ruled, Site: func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
		d := &hostDoor{rest: ds.rest(first.base, g)}
		for _, h := range all {
			d.doors = append(d.doors, portDoor{h.door(g), h.base.Port(), h.base.Path, h.by == project, h.read})
		}
		return broker.Site{Hosts: []address.Name{name}, Handler: d, Takes: d.takes}, nil
	}}
}

// hostDoor is a host with its registries.
type hostDoor struct {
	doors []portDoor
	rest  http.Handler // nil: the rest is refused, or is read as at any common host
}

type portDoor struct {
	taker
	port    string // "": the one of https
	base    string // path
	project bool   // it alone names it
	read    bool   // it only reads, past no door
}

// near is how much of a request's path is the door's own: a registry may have files beside
// its index, where another one is.
func (d portDoor) near(r *http.Request) int {
	if _, ok := door.Below(r, d.base); ok {
		return len(d.base) + 1
	}
	return len(path.Dir("/" + d.base))
}

// find is the door of a request: one of the port that it names, else any, and of those the
// nearest. Who names another port than he is connected to gets past no door.
func (h *hostDoor) find(r *http.Request) (found taker) {
	port := bare(&url.URL{Scheme: "https", Host: r.Host}).Port()
	var best portDoor
	for _, d := range h.doors {
		if d.Takes(r) && !(d.read && h.behind(d, r)) && (found == nil || cmp.Or(order(d.port != port, best.port != port), order(d.project, best.project), best.near(r)-d.near(r)) < 0) {
			best, found = d, d.taker
		}
	}
	return found
}

// behind holds for what is below the address of a registry with a door, which may not be
// read past it.
func (h *hostDoor) behind(m portDoor, r *http.Request) bool {
	return slices.ContainsFunc(h.doors, func(d portDoor) bool {
		_, below := door.Below(r, d.base)
		return !d.read && below && len(d.base) >= len(m.base)
	})
}

func (h *hostDoor) takes(r *http.Request) bool { return h.find(r) != nil }

// ServeHTTP implements http.Handler.
func (h *hostDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch d := h.find(r); {
	case d != nil:
		d.ServeHTTP(w, r)
	case h.rest != nil:
		h.rest.ServeHTTP(w, r)
	default:
		h.doors[0].ServeHTTP(w, r) // which says that it is not for that
	}
}

// rest is what else a host is asked where every public host may be.
func (ds *doors) rest(base *url.URL, g launch.Gateway) http.Handler {
	if !policy.Wide(ds.Reach.Mode) {
		return nil
	}
	return broker.Passed(&url.URL{Scheme: "https", Host: base.Host}, broker.Transport(g.Reach, g.Roots(), g.Record))
}
