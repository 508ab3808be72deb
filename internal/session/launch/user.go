package launch

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
)

// currentUser describes who runs ringfence. HOME decides where home is, as for
// any program; passwd gives the name and the shell, and may know nothing of us,
// as in many containers.
func currentUser(getenv func(string) string) (plan.User, error) {
	u := plan.User{UID: os.Getuid(), GID: os.Getgid(), Name: "user", Group: "user", Shell: "/bin/sh"}
	if row := find("/etc/passwd", 2, strconv.Itoa(u.UID), 7); row != nil {
		u.Name, u.Home, u.Shell = row[0], row[5], row[6]
	}
	if row := find("/etc/group", 2, strconv.Itoa(u.GID), 3); row != nil {
		u.Group = row[0]
	}
	if h := getenv("HOME"); h != "" {
		u.Home = h
	}
	if !filepath.IsAbs(u.Home) {
		return plan.User{}, unusable(u.Home)
	}
	home, err := state.Owned(u.Home)
	if err != nil {
		return plan.User{}, err
	}
	if st, err := os.Stat(home); err != nil || !st.IsDir() || home == "/" {
		return plan.User{}, unusable(u.Home)
	}
	u.Home = home
	if s := getenv("SHELL"); filepath.IsAbs(s) {
		u.Shell = s
	}
	if _, err := os.Stat(u.Shell); err != nil || !System(u.Shell) || filepath.Base(u.Shell) == "nologin" || filepath.Base(u.Shell) == "false" {
		u.Shell = "/bin/sh"
		if _, err := os.Stat("/bin/bash"); err == nil {
			u.Shell = "/bin/bash"
		}
	}
	return u, nil
}

func unusable(home string) error {
	return fault.New(fault.Refused, "set HOME to your home directory",
		"home directory %q is not usable: it must be an existing directory below /", home)
}

// System reports whether a path lies where the view shows the operating system.
func System(path string) bool {
	for _, d := range []string{"/usr", "/bin", "/sbin", "/lib"} {
		if file.Within(path, d) {
			return true
		}
	}
	return false
}

// find returns the row of a passwd-like file whose field n is value.
func find(file string, n int, value string, fields int) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if row := strings.Split(s.Text(), ":"); len(row) >= fields && row[n] == value {
			return row
		}
	}
	return nil
}

// account is a row of passwd that belongs to somebody.
type account struct {
	name, home string
	uid        int
}

// people lists those who have a home directory: root and ordinary users.
func people() []account {
	var out []account
	b, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return nil
	}
	for _, line := range strings.Split(string(b), "\n") {
		row := strings.Split(line, ":")
		if len(row) < 7 {
			continue
		}
		uid, err := strconv.Atoi(row[2])
		if err == nil && (uid == 0 || uid >= 1000 && uid < 65534) && filepath.IsAbs(row[5]) {
			out = append(out, account{row[0], filepath.Clean(row[5]), uid})
		}
	}
	return out
}

// homeOf returns whose home directory a path is; "" if nobody's.
func homeOf(path string) string {
	for _, p := range people() {
		if p.home == path {
			return p.name
		}
	}
	return ""
}

// Shell is the user's shell, or the one that is there.
func Shell(getenv func(string) string) string {
	u, err := currentUser(getenv)
	if err != nil {
		return "/bin/sh"
	}
	return u.Shell
}
