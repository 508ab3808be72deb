package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/broker"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/secret"
)

// vault is what secrets of this session are read from, on the host.
func (d *draft) vault(environ []string) secret.Host {
	return secret.Host{Environ: environ, Home: d.User.Home, Store: SecretStore(d.dirs.Config, d.dirs.State), Workspaces: d.written(), Unseen: d.unseen}
}

// SecretStore is ringfence's own store of secrets.
func SecretStore(config, state string) secret.Store {
	return secret.Store{Path: filepath.Join(config, "secrets.age"), Identity: filepath.Join(state, "secrets.key")}
}

// refOf says where a secret of policy is kept.
func refOf(s *policy.Secret) secret.Ref {
	from, arg := s.Origin()
	r := secret.Ref{Name: s.Name, From: from, Arg: arg}
	for _, a := range s.Command {
		r.Argv = append(r.Argv, a.Value)
	}
	return r
}

// kept is a secret that is read when it is used. What costs a program to read is
// remembered for a while.
type keptSecret struct {
	ref  secret.Ref
	host secret.Host
	kind string
	hint string // what to do when it cannot be read; "": try it
	file string // where the program that is asked keeps it; "": not known

	mu    sync.Mutex
	value string
	until time.Time
}

const remember = 5 * time.Minute

// Get implements broker.Source.
func (k *keptSecret) Get(ctx context.Context) (broker.Credential, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.value == "" || time.Now().After(k.until) {
		if k.file != "" {
			if err := k.host.Unseen(k.file); err != nil {
				return broker.Credential{}, &broker.Missing{Reason: err.Error()}
			}
		}
		v, err := k.ref.Read(ctx, k.host)
		if err != nil {
			hint := k.hint
			if hint == "" {
				hint = "there: ringfence secret test " + k.ref.Name
			}
			return broker.Credential{}, &broker.Missing{Reason: fmt.Sprintf("the host cannot read %s; %s", k.ref.Name, hint)}
		}
		k.value = v.Reveal()
		k.until = time.Time{}
		if k.ref.From == "command" || k.ref.From == "pass" || k.ref.From == "secret-service" {
			k.until = time.Now().Add(remember)
		}
	}
	return broker.Credential{Secret: k.ref.Name, Value: k.value, Kind: k.kind}, nil
}

// Stale implements broker.Source.
func (k *keptSecret) Stale(broker.Credential) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.value = ""
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
