package mirrors

import (
	"bytes"
	"encoding/xml"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Maven is what settings.xml says of where artifacts come from.
type Maven struct {
	Mirrors      []MavenMirror
	Repositories []MavenRepository // of profiles that are on for every project
	Logins       map[string]Login  // by the id of a mirror or a repository
	Encrypted    []string          // ids whose password only Maven can read
}

// MavenMirror stands in for repositories.
type MavenMirror struct {
	ID  string `xml:"id"`
	Of  string `xml:"mirrorOf"`
	URL string `xml:"url"`
}

// MavenRepository is one that is asked besides Central.
type MavenRepository struct {
	ID        string `xml:"id"`
	URL       string `xml:"url"`
	Releases  string `xml:"releases>enabled,omitempty"`
	Snapshots string `xml:"snapshots>enabled,omitempty"`
	Plugins   bool   `xml:"-"`
}

type mavenFile struct {
	XMLName xml.Name      `xml:"settings"`
	Mirrors []MavenMirror `xml:"mirrors>mirror"`
	Servers []struct {
		ID       string `xml:"id"`
		Username string `xml:"username"`
		Password string `xml:"password"`
	} `xml:"servers>server"`
	Profiles []struct {
		ID           string            `xml:"id"`
		Default      string            `xml:"activation>activeByDefault"`
		Repositories []MavenRepository `xml:"repositories>repository"`
		Plugins      []MavenRepository `xml:"pluginRepositories>pluginRepository"`
	} `xml:"profiles>profile"`
	Active []string `xml:"activeProfiles>activeProfile"`
}

var errXML = errors.New("it cannot be read as Maven's settings")

// ReadMaven reads a settings.xml. ${env.NAME} stands for a variable.
func ReadMaven(data []byte, getenv func(string) string) (Maven, error) {
	var f mavenFile
	if err := xml.Unmarshal(expandEnv(data, getenv), &f); err != nil {
		return Maven{}, errXML
	}
	m := Maven{Logins: map[string]Login{}}
	for _, x := range f.Mirrors {
		if x.ID, x.Of, x.URL = strings.TrimSpace(x.ID), strings.TrimSpace(x.Of), strings.TrimSpace(x.URL); mavenID(x.ID) && mavenOf().MatchString(x.Of) && len(m.Mirrors) < most {
			m.Mirrors = append(m.Mirrors, x)
		}
	}
	for _, s := range f.Servers {
		id, pass := strings.TrimSpace(s.ID), strings.TrimSpace(s.Password)
		switch {
		case pass == "" || len(m.Logins) >= most:
		case strings.Contains(pass, "{") && strings.Contains(pass, "}"):
			m.Encrypted = append(m.Encrypted, id)
		default:
			m.Logins[id] = Login{User: strings.TrimSpace(s.Username), Password: pass}
		}
	}
	for _, p := range f.Profiles {
		if strings.TrimSpace(p.Default) != "true" && !slices.ContainsFunc(f.Active, func(a string) bool { return strings.TrimSpace(a) == strings.TrimSpace(p.ID) }) {
			continue
		}
		m.repositories(p.Repositories, false)
		m.repositories(p.Plugins, true)
	}
	return m, nil
}

func (m *Maven) repositories(all []MavenRepository, plugins bool) {
	for _, r := range all {
		r.ID, r.URL, r.Plugins = strings.TrimSpace(r.ID), strings.TrimSpace(r.URL), plugins
		r.Releases, r.Snapshots = truth(r.Releases), truth(r.Snapshots)
		if mavenID(r.ID) && len(m.Repositories) < most {
			m.Repositories = append(m.Repositories, r)
		}
	}
}

func truth(text string) string {
	if text = strings.TrimSpace(text); text == "true" || text == "false" {
		return text
	}
	return ""
}

func mavenID(id string) bool { return word().MatchString(id) }

var (
	mavenOf  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._,*!: -]{1,1000}$`) })
	envInXML = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{env\.([A-Za-z0-9_]+)\}`) })
)

func expandEnv(data []byte, getenv func(string) string) []byte {
	return envInXML().ReplaceAllFunc(data, func(b []byte) []byte {
		v := getenv(string(envInXML().FindSubmatch(b)[1]))
		if v == "" {
			return b
		}
		var out bytes.Buffer
		xml.EscapeText(&out, []byte(v))
		return out.Bytes()
	})
}

// Write is settings of the same meaning, without logins.
func (m Maven) Write() []byte {
	type repositories struct {
		All []MavenRepository `xml:"repository"`
	}
	type plugins struct {
		All []MavenRepository `xml:"pluginRepository"`
	}
	type profile struct {
		ID           string        `xml:"id"`
		Repositories *repositories `xml:"repositories"`
		Plugins      *plugins      `xml:"pluginRepositories"`
	}
	var out struct {
		XMLName  xml.Name      `xml:"settings"`
		Mirrors  []MavenMirror `xml:"mirrors>mirror"`
		Profiles []profile     `xml:"profiles>profile"`
		Active   []string      `xml:"activeProfiles>activeProfile"`
	}
	out.Mirrors = m.Mirrors
	if len(m.Repositories) > 0 {
		p := profile{"ringfence", &repositories{}, &plugins{}}
		for _, r := range m.Repositories {
			if r.Plugins {
				p.Plugins.All = append(p.Plugins.All, r)
			} else {
				p.Repositories.All = append(p.Repositories.All, r)
			}
		}
		out.Profiles, out.Active = []profile{p}, []string{p.ID}
	}
	text, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil // nothing of it can fail to be written
	}
	return append(text, '\n')
}
