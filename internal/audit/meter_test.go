package audit

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestMeter(t *testing.T) {
	for name, c := range map[string]struct {
		e    Exposure
		want [3]Level
	}{
		"nothing":            {Exposure{Network: "none"}, [3]Level{None, None, None}},
		"own code, no net":   {Exposure{Network: "none", Workspaces: []string{"/p"}}, [3]Level{Some, None, None}},
		"own code, packages": {Exposure{Network: "dev", Workspaces: []string{"/p"}, Model: true}, [3]Level{Some, Some, Some}},
		"only the model":     {Exposure{Network: "locked", Workspaces: []string{"/p"}, Model: true}, [3]Level{Some, None, Some}},
		"the model searches": {Exposure{Network: "locked", Workspaces: []string{"/p"}, Model: true, Provider: []string{"search"}}, [3]Level{Some, Some, Some}},
		"the model fetches":  {Exposure{Network: "locked", Model: true, Provider: []string{"fetch"}}, [3]Level{None, Full, Full}},
		"no model, search":   {Exposure{Network: "none", Provider: []string{"search", "mcp"}}, [3]Level{None, None, None}},
		"a stranger's code":  {Exposure{Network: "locked", Workspaces: []string{"/p"}, Foreign: "not yours", Model: true}, [3]Level{Some, Full, Some}},
		"a key in sight":     {Exposure{Network: "none", Secrets: []string{"~/.ssh"}}, [3]Level{Full, None, None}},
		"a brokered key":     {Exposure{Network: "dev", Brokered: []string{"github"}, Push: []string{"forge.test/a/b"}}, [3]Level{Some, Some, Some}},
		"the internet":       {Exposure{Network: "internet", Workspaces: []string{"/p"}}, [3]Level{Some, Full, Full}},
		"anybody's host":     {Exposure{Network: "locked", Hosts: []string{"*.pages.test"}, Anyone: []string{"*.pages.test"}}, [3]Level{None, Some, Full}},
		"a device":           {Exposure{Network: "locked", Devices: []string{"192.0.2.1:80"}}, [3]Level{None, None, Full}},
		"mail":               {Exposure{Network: "locked", Servers: []string{"mail"}, Readers: []string{"mail"}}, [3]Level{None, Full, None}},
		"the bare agent":     {Exposure{Bare: true}, [3]Level{Full, Full, Full}},
	} {
		m := Meter(c.e)
		if got := [3]Level{m.Private.Level, m.Untrusted.Level, m.WayOut.Level}; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for _, l := range []Leg{m.Private, m.Untrusted, m.WayOut} {
			if (l.Level == None) != (len(l.Reasons) == 0) {
				t.Errorf("%s: level %s with reasons %q", name, l.Level, l.Reasons)
			}
		}
	}
}

func TestMeterLine(t *testing.T) {
	m := Meter(Exposure{Network: "dev", Secrets: []string{"x"}})
	if got := m.Line(true); got != "private ●  untrusted ◐  way out ◐" {
		t.Errorf("line %q", got)
	}
	if got := m.Line(false); got != "private full  untrusted some  way out some" {
		t.Errorf("line %q", got)
	}
	if m.Legs() != 3 || Meter(Exposure{Network: "none"}).Legs() != 0 {
		t.Error("legs are counted wrong")
	}
	for env, want := range map[string]bool{"C.UTF-8": true, "en_GB.utf8": true, "C": false, "": false, "POSIX": false} {
		if got := UTF8(func(name string) string { return map[string]string{"LANG": env}[name] }); got != want {
			t.Errorf("LANG=%q: %t", env, got)
		}
	}
	if UTF8(func(name string) string { return map[string]string{"LC_ALL": "C", "LANG": "C.UTF-8"}[name] }) {
		t.Error("LC_ALL does not win")
	}
}

// More exposure never lowers a leg.
func TestMeterIsMonotonic(t *testing.T) {
	list := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2)
	modes := []string{"none", "locked", "dev", "internet"}
	draw := func(t *rapid.T) Exposure {
		return Exposure{Bare: rapid.Bool().Draw(t, "bare"), Workspaces: list.Draw(t, "w"), Secrets: list.Draw(t, "s"), Granted: list.Draw(t, "g"), Brokered: list.Draw(t, "b"),
			Foreign: rapid.SampledFrom([]string{"", "why"}).Draw(t, "f"), Servers: list.Draw(t, "m"), Readers: list.Draw(t, "r"),
			Network: rapid.SampledFrom(modes).Draw(t, "n"), Hosts: list.Draw(t, "h"), Anyone: list.Draw(t, "a"), Devices: list.Draw(t, "d"),
			Publish: list.Draw(t, "p"), Push: list.Draw(t, "u"), Model: rapid.Bool().Draw(t, "model"),
			Provider: rapid.SliceOfN(rapid.SampledFrom([]string{"search", "fetch", "code", "files", "mcp"}), 0, 3).Draw(t, "provider")}
	}
	rapid.Check(t, func(t *rapid.T) {
		e := draw(t)
		wider := e
		switch rapid.IntRange(0, 6).Draw(t, "how") {
		case 0:
			wider.Bare = true
		case 1:
			wider.Secrets = append([]string{"x"}, e.Secrets...)
		case 2:
			wider.Hosts = append([]string{"x"}, e.Hosts...)
		case 3:
			wider.Foreign = "why"
		case 4:
			wider.Network = "internet"
		case 6:
			wider.Provider = append([]string{"mcp"}, e.Provider...)
		case 5:
			wider.Devices, wider.Readers, wider.Push = append(e.Devices, "x"), append(e.Readers, "x"), append(e.Push, "x")
		}
		a, b := Meter(e), Meter(wider)
		if b.Private.Level < a.Private.Level || b.Untrusted.Level < a.Untrusted.Level || b.WayOut.Level < a.WayOut.Level {
			t.Fatalf("%+v: %s; wider %+v: %s", e, a.Line(true), wider, b.Line(true))
		}
		text, err := json.Marshal(b)
		var back Trifecta
		if err != nil || json.Unmarshal(text, &back) != nil || back.Line(false) != b.Line(false) {
			t.Fatalf("JSON %s: %v", text, err)
		}
	})
}
