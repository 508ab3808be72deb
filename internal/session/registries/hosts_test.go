package registries

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/registry/crates"
	"ringfence.dev/ringfence/internal/registry/npm"
	"ringfence.dev/ringfence/internal/registry/pypi"
	"ringfence.dev/ringfence/internal/registry/upstream"
	"ringfence.dev/ringfence/internal/session/launch"
)

// below takes what lies below a path, and says who it is.
type below struct{ path, is string }

func (b below) Takes(r *http.Request) bool                       { return strings.HasPrefix(r.URL.Path, b.path+"/") }
func (b below) ServeHTTP(w http.ResponseWriter, r *http.Request) { w.Write([]byte(b.is)) }

func (ds *doors) serveAt(t *testing.T, at, is string, by namer) {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	name, err := address.ParseName(u.Hostname())
	if err != nil {
		t.Fatal(err)
	}
	base := bare(u)
	ds.serve(name, base, by, func(launch.Gateway) taker { return below{base.Path, is} })
}

// What a project names takes nothing from what the tools come with or the user names,
// whatever its port and however long its path.
func TestOneNameHasAllItsDoors(t *testing.T) {
	for _, mine := range []string{"https://corp.test:443/aaaa/simple", "https://CORP.test:444/aaaa/simple", "https://corp.test/npm/aaaa/longer", "https://corp.test.:443/aaaa"} {
		ds := &doors{}
		ds.serveAt(t, mine, "project", project)
		ds.serveAt(t, "https://corp.test", "tools", tools)
		ds.serveAt(t, "https://corp.test/npm", "user", user)
		ds.open()
		if len(ds.Brokered.Soft) != 1 {
			t.Fatalf("%s: %d hosts", mine, len(ds.Brokered.Soft))
		}
		soft := ds.Brokered.Soft[0]
		site, err := soft.Site(nil, nil)
		if err != nil || soft.Name != "corp.test" || soft.Port != "" || soft.Ruled || len(site.Hosts) != 1 {
			t.Fatalf("%s: %+v, %+v, %v", mine, soft, site, err)
		}
		for at, want := range map[string]string{"/npm/lib": "user", "/npm/aaaa/longer/lib": "user", "/lib": "tools", "/aaaa/simple/lib": "tools"} {
			for _, port := range []string{"", ":443", ":445"} {
				r := httptest.NewRequest("GET", "https://corp.test"+port+at, nil)
				if w := httptest.NewRecorder(); !site.Takes(r) {
					t.Errorf("%s: %s is nobody's", mine, r.URL)
				} else if site.Handler.ServeHTTP(w, r); w.Body.String() != want {
					t.Errorf("%s: %s is of %q", mine, r.URL, w.Body)
				}
			}
		}
	}
}

// The port that is asked for decides between registries of one name, then the path.
func TestPortsOfOneName(t *testing.T) {
	ds := &doors{}
	ds.serveAt(t, "https://corp.test:8443/npm", "other", user)
	ds.serveAt(t, "https://corp.test/npm/long", "long", user)
	ds.serveAt(t, "https://corp.test/npm", "short", user)
	ds.serveAt(t, "https://corp.test:9443/npm", "project", project)
	ds.open()
	site, err := ds.Brokered.Soft[0].Site(nil, nil)
	if err != nil || len(ds.Brokered.Soft) != 1 {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"corp.test/npm/long/x": "long", "corp.test/npm/x": "short", "corp.test:8443/npm/long/x": "other", "CORP.test.:8443/npm/x": "other", "corp.test:9443/npm/x": "project", "corp.test:1/npm/x": "short"} {
		w := httptest.NewRecorder()
		site.Handler.ServeHTTP(w, httptest.NewRequest("GET", "https://"+at, nil))
		if w.Body.String() != want {
			t.Errorf("%s: %q", at, w.Body)
		}
	}
}

// An index of Python has files beside it, where a company may have its other registries:
// what lies below one of those is that one's.
func TestFilesBeside(t *testing.T) {
	at := func(path string) *upstream.Site {
		return &upstream.Site{Base: &url.URL{Scheme: "https", Host: "corp.test", Path: path}}
	}
	node, python := &npm.Door{Site: at("/all/npm")}, &pypi.Door{Site: at("/all/simple")}
	h := &hostDoor{doors: []portDoor{{taker: python, base: "/all/simple"}, {taker: node, base: "/all/npm"}}}
	for path, want := range map[string]taker{"/all/npm/lib-1.0.0.tgz": node, "/all/npm/lib/-/lib-1.0.0.tgz": node, "/all/packages/lib-1.0.0.tgz": python, "/all/simple/lib/lib-1.0.0.tgz": python, "/all/simple/lib/": python} {
		if got := h.find(httptest.NewRequest("GET", "https://corp.test"+path, nil)); got != want {
			t.Errorf("%s: %T", path, got)
		}
	}
}

// A project names as many hosts as it likes, and the broker speaks for some of them: the
// rest is told of, and what the user names is there in any case.
func TestManyHostsOfAProject(t *testing.T) {
	ds := &doors{}
	for i := range 300 {
		ds.serveAt(t, fmt.Sprintf("https://a%03d.test/simple", i), "project", project)
	}
	ds.serveAt(t, "https://zzz.test/simple", "user", user)
	ds.serveAt(t, "https://zz.test/simple", "tools", tools)
	ds.open()
	last := ds.Brokered.Soft[len(ds.Brokered.Soft)-2:]
	if n := len(ds.Brokered.Soft); n != maxProjectHosts+2 || last[0].Name != "zz.test" || last[1].Name != "zzz.test" {
		t.Errorf("%d hosts, %+v", n, last)
	}
	if len(ds.Warnings) != 1 || !strings.Contains(ds.Warnings[0], "236") {
		t.Errorf("%q", ds.Warnings)
	}
}

// What may be a package does not get past the doors of a host as plain reading, with a
// query, by another spelling or by another port; the rest of the host is read.
func TestRestIsNoPackage(t *testing.T) {
	asked := ""
	base := func(path string) *upstream.Site {
		return &upstream.Site{Base: &url.URL{Scheme: "https", Host: "corp.test", Path: path}}
	}
	h := &hostDoor{
		doors: []portDoor{{taker: &npm.Door{Site: base("/npm")}}, {taker: &pypi.Door{Site: base("/pypi/simple")}}, {taker: &crates.Door{Site: base("/index"), Named: true}}},
		rest:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked = r.URL.String() }),
	}
	for _, path := range []string{"/npm/evil/-/evil-1.0.0.tgz?x=1", "//npm/evil/-/evil-1.0.0.tgz", "/npm//evil?x", "/pypi/simple/evil/?x=1", "/pypi//simple/evil/", "/pypi/files/evil-1.0.tar.xz?x", "/pypi/./evil-1.0.tgz", "/index/ev/il/evil?x=1", "/x/%2e%2e/index//ev/il/evil"} {
		for _, port := range []string{"", ":443", ":444"} {
			r := httptest.NewRequest("GET", "https://corp.test"+port+path, nil)
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); !h.takes(r) || asked != "" || w.Code != http.StatusForbidden && w.Code != http.StatusNotFound {
				t.Errorf("%s: %d, asked %q", r.URL, w.Code, asked)
			}
			asked = ""
		}
	}
	for _, path := range []string{"/", "/npm/-/v1/search?text=x", "/releases/tool-1.0.tar.gz?x=1", "/pypi/lib/json"} {
		r := httptest.NewRequest("GET", "https://corp.test"+path, nil)
		if h.ServeHTTP(httptest.NewRecorder(), r); h.takes(r) || asked == "" {
			t.Errorf("control: %s is not read", path)
		}
		asked = ""
	}
}
