package registries

import (
	"net/http"
	"net/url"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
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
	name  address.Name
	base  *url.URL
	named bool // the user's own settings name the host
	door  func(launch.Gateway) taker
}

// serve opens a door at the name of a registry.
func (ds *doors) serve(name address.Name, base *url.URL, named bool, door func(launch.Gateway) taker) {
	ds.hosts = append(ds.hosts, servedHost{name, base, named, door})
}

// open makes a host the broker's, once for all of its doors: the nearest of a path first.
func (ds *doors) open() {
	slices.SortStableFunc(ds.hosts, func(a, b servedHost) int { return len(b.base.Path) - len(a.base.Path) })
	var seen []address.Name
	for _, h := range ds.hosts {
		if slices.Contains(seen, h.name) {
			continue
		}
		seen = append(seen, h.name)
		var all []servedHost
		named := false
		for _, o := range ds.hosts {
			if o.name == h.name && o.base.Host == h.base.Host {
				all, named = append(all, o), named || o.named
			}
		}
		ds.Brokered.Soft = append(ds.Brokered.Soft, launch.SoftHost{Name: h.name, Port: h.base.Port(), Ruled: !named, Site: func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
			d := &hostDoor{rest: ds.rest(h.base, g)}
			for _, o := range all {
				d.doors = append(d.doors, o.door(g))
			}
			return broker.Site{Hosts: []address.Name{h.name}, Handler: d, Takes: d.takes}, nil
		}})
	}
}

// hostDoor is a host with its registries.
type hostDoor struct {
	doors []taker
	rest  http.Handler // nil: the rest is refused, or is read as at any common host
}

func (h *hostDoor) find(r *http.Request) taker {
	for _, d := range h.doors {
		if d.Takes(r) {
			return d
		}
	}
	return nil
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

// rest is what else a host is asked in mode internet, where every public host may be.
func (ds *doors) rest(base *url.URL, g launch.Gateway) http.Handler {
	if ds.Reach.Mode != "internet" {
		return nil
	}
	return broker.Passed(&url.URL{Scheme: "https", Host: base.Host}, broker.Transport(g.Reach, g.Roots()))
}
