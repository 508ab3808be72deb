package lending

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/credentials/source"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// services are the hosts that the user's secrets are for.
type services struct {
	launch.Base
	launch.Contribution
	kept  keptSecrets
	homes []*home
	npmrc []string
}

// prepare makes them the broker's. In mode locked there are none: it is for the agent's
// own API.
func (sv *services) prepare() error {
	if sv.NoNetwork() || !servesHosts(sv.Base, sv.Bare) {
		return nil
	}
	for _, u := range secrets(sv.Base.Law) {
		s := u.Secret
		if !servesHosts(sv.Base, sv.Policy) {
			u.off = policy.ProjectFile + " sets the mode " + sv.Policy.Network.Mode.Value
		}
		var err error
		switch s.Kind() {
		case "", "anthropic", "openai", "gemini", "github", "gitlab", "gitea":
			// Models and forges have their own place.
		case "aws":
			err = sv.cloud(u)
		default:
			err = sv.service(u)
		}
		if err != nil {
			return fault.New(fault.Refused, "", "%s: secret %s: %w", s.Source.String(), s.Name, err)
		}
	}
	if err := sv.openHomes(); err != nil {
		return err
	}
	if len(sv.npmrc) > 0 {
		sv.Put(npmrcPath, []byte(strings.Join(sv.npmrc, "\n")+"\n"), "leads npm to the broker")
		setPhantoms(&sv.Contribution, map[string]string{"NPM_CONFIG_GLOBALCONFIG": npmrcPath}, nil, "")
	}
	return nil
}

// npmrcPath is the file that npm reads in the place of the system's.
const npmrcPath = plan.Own + "/npmrc"

// service makes the hosts of a secret the broker's.
func (sv *services) service(u usable) error {
	s := u.Secret
	if len(s.Hosts) == 0 {
		return errors.New("it has no hosts: say which it is for")
	}
	kind := serviceapi.Kind(s.Kind())
	prefix, length, _ := serviceapi.Shape(kind)
	phantom := broker.NewPhantom(prefix, len(prefix)+length)
	for _, v := range s.Hosts {
		h, base, err := sv.homeOf(v.Value)
		if err != nil {
			return err
		}
		if u.off != "" {
			h.parts = append(h.parts, homePart{base: base, off: u.off})
			continue
		}
		svc, err := serviceapi.New(serviceapi.Config{Kind: kind, Host: h.url.Host, Base: base, Field: s.Header.Text(), Publish: s.Publish != nil && s.Publish.Value,
			Allow: s.Allow.Values(), Deny: s.Deny.Values()})
		if err != nil {
			return err
		}
		sv.Keys = append(sv.Keys, h.url.Host+base+" by "+s.Name)
		setPhantoms(&sv.Contribution, svc.ClientEnv(string(phantom)), s, phantom)
		sv.npmrc = append(sv.npmrc, svc.ClientLines(string(phantom))...)
		h.parts = append(h.parts, homePart{base: base, service: broker.Service{Service: svc, Kind: kind, Name: s.Name, User: s.User.Text(), Upstream: h.url, Phantom: phantom,
			Source: sv.kept.one(sv.Base, &keptSecret{ref: refOf(s)})}})
	}
	return nil
}

// setPhantoms sets the variables in which clients look for the credential.
func setPhantoms(c *launch.Contribution, env map[string]string, s *policy.Secret, p broker.Phantom) {
	if s != nil {
		for _, e := range s.Env {
			env[e.Value] = string(p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		c.Set("broker", name, env[name])
	}
}

// cloud serves short-lived credentials of a role at the endpoint inside.
func (sv *services) cloud(u usable) error {
	s := u.Secret
	phantom := broker.NewPhantom("", 64)
	kept := sv.kept.one(sv.Base, &keptSecret{ref: refOf(s)})
	conf := source.RoleConfig{Phantom: string(phantom), Session: sv.ID, Role: s.Role.Text(), Policy: s.SessionPolicy.Text(), Region: s.Region.Text(),
		Static: s.Static != nil && s.Static.Value, Keys: func(ctx context.Context) (string, string, string, error) { return awsKeys(ctx, kept) }}
	if ttl := s.TTL.Text(); ttl != "" {
		var err error
		if conf.TTL, err = time.ParseDuration(ttl); err != nil {
			return err
		}
	}
	if conf.Region == "" {
		conf.Region = "us-east-1"
	}
	reach := func(g launch.Gateway) broker.Reach { return g.Reach }
	if conf.Endpoint = sv.Getenv("AWS_ENDPOINT_URL_STS"); conf.Endpoint != "" {
		reach = func(g launch.Gateway) broker.Reach { return Direct(sv.Base, g, false) }
	} else if err := sv.ownURL(source.RoleEndpoint(conf.Region), "ringfence asks it for the agent"); err != nil {
		return err
	}
	if u.off != "" {
		return nil
	}
	conf.Transport = http.DefaultTransport // to be checked; the real one comes with the gate
	if _, err := source.NewRole(conf); err != nil {
		return err
	}
	setPhantoms(&sv.Contribution, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": broker.Endpoint + "/aws/" + s.Name,
		"AWS_CONTAINER_AUTHORIZATION_TOKEN": string(phantom), "AWS_REGION": conf.Region}, nil, "")
	sv.Brokered.Sites = append(sv.Brokered.Sites, func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
		conf.Transport = broker.Noted(broker.Transport(reach(g), g.Roots(), g.Record), func(r *http.Request, _ string) error {
			return g.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "aws", Name: r.URL.Hostname(), Method: r.Method, Secret: s.Name,
				Verdict: journal.Allow, Reason: "for credentials that end"})
		})
		conf.Record = func(e source.RoleEvent) {
			verdict := journal.Allow
			if e.Reason != "" {
				verdict = journal.Deny
			}
			g.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Name: "aws", Secret: s.Name, Verdict: verdict, Reason: e.Reason})
		}
		h, err := source.NewRole(conf)
		return broker.Site{Prefix: "/aws/" + s.Name, Handler: broker.Recorded(g.Record, journal.Record{Via: "aws", Secret: s.Name}, h)}, err
	})
	return nil
}

// ownURL makes the host of a URL the broker's.
func (sv *services) ownURL(at, why string) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	n, err := address.ParseName(u.Hostname())
	if err == nil {
		sv.Brokered.Own(n, why)
	}
	return err
}

// awsKeys reads long-lived keys: ID:SECRET[:TOKEN], or the JSON that the AWS tools
// print.
func awsKeys(ctx context.Context, kept broker.Source) (id, key, token string, err error) {
	c, err := kept.Get(ctx)
	if err != nil {
		return "", "", "", err
	}
	if strings.HasPrefix(c.Value, "{") {
		var v struct{ AccessKeyId, SecretAccessKey, SessionToken string }
		if json.Unmarshal([]byte(c.Value), &v) != nil {
			return "", "", "", fmt.Errorf("secret %s is not the JSON of AWS credentials", c.Secret)
		}
		return v.AccessKeyId, v.SecretAccessKey, v.SessionToken, nil
	}
	parts := strings.SplitN(c.Value, ":", 3)
	if len(parts) < 2 {
		return "", "", "", fmt.Errorf("secret %s is not ID:SECRET", c.Secret)
	}
	return parts[0], parts[1], strings.Join(parts[2:], ""), nil
}
