package serviceapi

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// fields are the headers, besides Authorization, in which services take a
// credential.
var fields = []string{
	"Private-Token", "Job-Token", "Deploy-Token", "X-Api-Key", "Api-Key", "Apikey", "X-Auth-Token", "X-Access-Token",
	"X-Jfrog-Art-Api", "X-Nuget-Apikey", "X-Gitlab-Token", "X-Goog-Api-Key",
}

// dropped are headers that may speak for somebody and are never compared: a
// client carries cookies without having been told to.
var dropped = []string{"Cookie", "Cookie2", "Proxy-Authorization", "X-Github-Otp"}

// credentialParameter reports whether a query parameter, named as parameter
// spells it, is taken for a credential somewhere.
func credentialParameter(name string) bool {
	return slices.Contains([]string{
		"access_token", "private_token", "job_token", "deploy_token", "oauth_token", "auth_token", "_authtoken", "_auth",
		"token", "api_key", "apikey", "key", "client_secret", "rss_token", "feed_token", "authenticity_token",
	}, name)
}

// Put writes the real credential into a request that Strip has been over. Where
// user is given, forges and registries get it with a password, as git does.
func (s *Service) Put(r *http.Request, user, value string) {
	switch k := s.config.Kind; {
	case k == PyPI:
		r.SetBasicAuth(cmp.Or(user, "__token__"), value)
	case k == Basic || k == Go || k == Maven:
		r.SetBasicAuth(user, value)
	case k == Cargo:
		r.Header.Set("Authorization", value)
	case k == Header:
		r.Header.Set(s.config.Field, value)
	case user != "":
		r.SetBasicAuth(user, value)
	case k == Gitea:
		r.Header.Set("Authorization", "token "+value)
	default:
		r.Header.Set("Authorization", "Bearer "+value)
	}
}

// Presented finds the credential that the caller put into a request, and where.
// Both are "" where there is none. Different credentials in different places, or
// a place that cannot be read, are an error: it tells the place, not the value.
func (s *Service) Presented(r *http.Request) (value, where string, err error) {
	take := func(v, place string) {
		switch {
		case v == "" || err != nil:
		case value != "" && v != value:
			err = errors.New("the request carries two different credentials: in " + where + " and in " + place)
		default:
			value, where = v, cmp.Or(where, place)
		}
	}
	for _, name := range append([]string{"Authorization"}, s.fields()...) {
		lines := r.Header.Values(name)
		if len(lines) > 1 {
			return "", name, errors.New("the request has more than one header " + name)
		}
		for _, line := range lines {
			v, e := bare(line)
			if e != nil {
				return "", name, errors.New("the header " + name + " cannot be read")
			}
			take(v, name)
		}
	}
	if r.URL.User != nil {
		password, _ := r.URL.User.Password()
		take(cmp.Or(password, r.URL.User.Username()), "URL")
	}
	query, e := url.ParseQuery(r.URL.RawQuery)
	if e != nil {
		return "", "query", errors.New("the query cannot be read")
	}
	for name, values := range query {
		if credentialParameter(parameter(name)) && !s.innocent(parameter(name)) {
			for _, v := range values {
				take(v, "query "+parameter(name))
			}
		}
	}
	if err != nil {
		return "", "", err
	}
	return value, where, nil
}

// Strip takes out of a request whatever a caller could have put there to speak
// for somebody.
func (s *Service) Strip(r *http.Request) {
	r.URL.User = nil
	for _, name := range slices.Concat([]string{"Authorization"}, dropped, s.fields()) {
		r.Header.Del(name)
	}
	for name := range r.Header { // servers may read "_" as "-"
		if k := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")); k != name && (k == "Authorization" || slices.Contains(dropped, k) || slices.Contains(s.fields(), k)) {
			delete(r.Header, name)
		}
	}
	var kept []string
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		raw, _, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(raw)
		if p := parameter(name); err == nil && (s.innocent(p) || !credentialParameter(p)) {
			kept = append(kept, pair)
		}
	}
	r.URL.RawQuery = strings.Join(kept, "&")
}

// innocent are parameters that only look like credentials: caches at GitHub are
// listed by key.
func (s *Service) innocent(name string) bool { return s.config.Kind == GitHub && name == "key" }

func (s *Service) fields() []string {
	if s.config.Field == "" {
		return fields
	}
	return append(slices.Clone(fields), http.CanonicalHeaderKey(s.config.Field))
}

// bare takes the credential out of a header's value: "Bearer X", "token X",
// "Basic BASE64" (its password, or its user where the password says nothing), or
// the value itself.
func bare(line string) (string, error) {
	line = strings.TrimSpace(line)
	scheme, rest, found := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if !found {
		return line, nil
	}
	if !strings.EqualFold(scheme, "Basic") {
		if strings.ContainsAny(rest, " ,=\t") && !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "token") {
			return "", errors.New("a scheme of several parts")
		}
		return rest, nil
	}
	data, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return "", errors.New("not base64")
	}
	user, password, _ := strings.Cut(string(data), ":")
	if password == "" || password == "x-oauth-basic" {
		return user, nil
	}
	return password, nil
}
