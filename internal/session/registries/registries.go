// Package registries leads the package managers of a session to the registry door, and
// says from which upstreams it fetches and with whose login.
package registries

import (
	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/session/launch"
)

// doors are those of one session.
type doors struct {
	launch.Base
	launch.Contribution
	store   *store.Store
	room    upstream.Room
	brake   brake.Rules
	offline bool
	hosts   []servedHost
	asked   map[string]bool // hosts whose login is in a keyring, and that were named
}

// largeDocuments is how many large indexes a supervisor has in memory at once: twelve of the
// largest took 1.1 GB.
const largeDocuments = 2

// Stand says whether a session has doors at all.
func Stand(b launch.Base) bool {
	return !b.Asked.Passing && b.Asked.Server == "" && b.Reach.Mode != launch.Locked
}

// Part is the part of a session. Without a network the doors answer from the store, where
// there is one.
func Part(b launch.Base) (launch.Contribution, error) {
	ds := &doors{Base: b, store: store.At(b.Dirs.State), room: upstream.NewRoom(largeDocuments), brake: brake.Of(&b.Policy.Supply), offline: b.Reach.Mode == launch.ModeNone}
	switch {
	case !Stand(b):
		return ds.Contribution, nil
	case ds.offline && !ds.store.Filled():
		return ds.Contribution, nil
	case ds.offline:
		ds.Capture = netns.Endpoint()
	}
	ds.packages()
	ds.projects()
	ds.crates()
	ds.mirrors()
	err := ds.modules()
	ds.open()
	return ds.Contribution, err
}
