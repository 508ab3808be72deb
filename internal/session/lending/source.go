package lending

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/source"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
)

// vault is what secrets of this session are read from, on the host.
func vault(b launch.Base, environ []string) source.Host {
	return source.Host{Environ: environ, Home: b.User.Home, Store: SecretStore(b.Dirs.Config, b.Dirs.State), Workspaces: b.Written(), Unseen: unseen(b)}
}

// SecretStore is ringfence's own store of secrets.
func SecretStore(config, state string) source.Store {
	return source.Store{Path: filepath.Join(config, "secrets.age"), Identity: filepath.Join(state, "secrets.key")}
}

// refOf says where a secret of policy is kept.
func refOf(s *policy.Secret) source.Ref {
	from, arg := s.Origin()
	r := source.Ref{Name: s.Name, From: from, Arg: arg}
	for _, a := range s.Command {
		r.Argv = append(r.Argv, a.Value)
	}
	return r
}

// keptSecret is a secret that is read when it is used. What costs a program to read is
// remembered for a while, and so is that it could not be read: whatever an upstream
// answers and however often, the program runs once in a while.
type keptSecret struct {
	ref  source.Ref
	host source.Host
	kind string
	hint string           // what to do when it cannot be read; "": try it
	file string           // where the program that is asked keeps it; "": not known
	now  func() time.Time // nil is time.Now

	mu    sync.Mutex
	value string
	err   error
	ran   time.Time // when a program was asked last
	stale bool      // the upstream refused the value
}

const (
	remember = 5 * time.Minute
	calm     = 30 * time.Second // between two runs of a program, whatever came of the first
)

// keptSecrets are those of a part, by where they are kept.
type keptSecrets map[string]*keptSecret

// one is the one source of a secret, however many hosts it is for.
func (all keptSecrets) one(b launch.Base, k *keptSecret) *keptSecret {
	if k.host.Environ == nil {
		k.host = vault(b, b.Asked.Environ)
	}
	key := k.ref.Name + "\x00" + k.ref.From + "\x00" + k.ref.Arg + "\x00" + strings.Join(k.ref.Argv, "\x00") + "\x00" + k.kind
	if all[key] == nil {
		all[key] = k
	}
	return all[key]
}

// byProgram holds for a secret that a program tells.
func (k *keptSecret) byProgram() bool {
	return k.ref.From == "command" || k.ref.From == "pass" || k.ref.From == "secret-service"
}

// due holds when the secret has to be read.
func (k *keptSecret) due(now time.Time) bool {
	switch since := now.Sub(k.ran); {
	case !k.byProgram() || k.ran.IsZero():
		return true
	case k.err != nil || k.stale:
		return since >= calm
	default:
		return since >= remember
	}
}

// Get implements broker.Source.
func (k *keptSecret) Get(ctx context.Context) (broker.Credential, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now
	if k.now != nil {
		now = k.now
	}
	if k.due(now()) {
		if k.file != "" {
			if err := k.host.Unseen(k.file); err != nil {
				return broker.Credential{}, &broker.Missing{Reason: err.Error()}
			}
		}
		// A client that goes away does not end the program: it would be run again for
		// the next one. It has a bound of its own.
		v, err := k.ref.Read(context.WithoutCancel(ctx), k.host)
		k.err, k.ran, k.stale = err, now(), false
		if err == nil {
			k.value = v.Reveal()
		}
	}
	if k.err != nil {
		hint := k.hint
		if hint == "" {
			hint = "there: ringfence secret test " + k.ref.Name
		}
		return broker.Credential{}, &broker.Missing{Reason: fmt.Sprintf("the host cannot read %s; %s", k.ref.Name, hint)}
	}
	return broker.Credential{Secret: k.ref.Name, Value: k.value, Kind: k.kind}, nil
}

// Stale implements broker.Source.
func (k *keptSecret) Stale(c broker.Credential) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stale = k.stale || c.Value == k.value
}

// variable is a key of the launcher's environment.
type variable struct{ name, value, kind string }

// Get implements broker.Source.
func (v variable) Get(context.Context) (broker.Credential, error) {
	return broker.Credential{Secret: v.name, Value: v.value, Kind: v.kind}, nil
}

// Stale implements broker.Source: there is no other.
func (variable) Stale(broker.Credential) {}

// absent is a credential that the host does not have.
type absent struct{ reason string }

// Get implements broker.Source.
func (a absent) Get(context.Context) (broker.Credential, error) {
	return broker.Credential{}, &broker.Missing{Reason: a.reason}
}

// Stale implements broker.Source.
func (absent) Stale(broker.Credential) {}

var errNoUpstream = errors.New("not an http:// or https:// URL without a user, a query or a fragment")
