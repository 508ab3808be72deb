// Package registries leads the package managers of a session to the registry door, and
// says from which upstreams it fetches and with whose login.
package registries

import (
	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/session/launch"
)

// doors are those of one session.
type doors struct {
	launch.Base
	launch.Contribution
	store   *store.Store
	brake   brake.Rules
	offline bool
}

// Stand says whether a session has doors at all.
func Stand(b launch.Base) bool {
	return !b.Asked.Passing && b.Asked.Server == "" && b.Reach.Mode != launch.Locked
}

// Part is the part of a session. Without a network the doors answer from the store, where
// there is one.
func Part(b launch.Base) (launch.Contribution, error) {
	ds := &doors{Base: b, store: store.At(b.Dirs.State), brake: brake.Of(&b.Policy.Supply), offline: b.Reach.Mode == launch.ModeNone}
	switch {
	case !Stand(b):
		return ds.Contribution, nil
	case ds.offline && !ds.store.Filled():
		return ds.Contribution, nil
	case ds.offline:
		ds.Capture = netns.Endpoint()
	}
	ds.packages()
	err := ds.modules()
	return ds.Contribution, err
}
