package hook

import (
	"slices"
	"strings"
)

// findFiles is find: where it starts, what it picks, what it does.
func (w *walk) findFiles(_ string, args []string, stdin string) string {
	i := 0
	for i < len(args) && (args[i] == "-H" || args[i] == "-L" || args[i] == "-P") {
		i++
	}
	var starts []string
	for ; i < len(args) && !strings.HasPrefix(args[i], "-") && args[i] != "(" && args[i] != "!"; i++ {
		starts = append(starts, args[i])
	}
	if len(starts) == 0 {
		starts = []string{"."}
	}
	tests := args[i:]
	picks := picky(tests)
	if slices.Contains(tests, "-delete") {
		w.swept(starts, picks)
	}
	for j, a := range tests {
		if a != "-exec" && a != "-execdir" && a != "-ok" && a != "-okdir" || j+1 >= len(tests) {
			continue
		}
		cmd := tests[j+1:]
		if end := slices.IndexFunc(cmd, func(s string) bool { return s == ";" || s == "+" }); end >= 0 {
			cmd = cmd[:end]
		}
		w.executes(starts, picks, cmd)
	}
	return hidden(stdin)
}

// picky holds for tests that leave something out.
func picky(tests []string) bool {
	for _, t := range tests {
		switch strings.TrimLeft(t, "-") {
		case "name", "iname", "path", "ipath", "wholename", "regex", "iregex", "mtime", "mmin", "newer", "size", "empty", "atime", "ctime", "cmin", "amin", "user", "perm", "samefile", "links", "newermt":
			return true
		}
	}
	return false
}

// swept is all that is found, and removed.
func (w *walk) swept(starts []string, picks bool) {
	for _, s := range starts {
		switch level := w.reaches(s); {
		case level == little || picks && w.within(s):
		case picks || level == perhaps:
			w.find(Ask, "rm", "This removes what it finds below "+say(s)+".")
		default:
			w.find(Deny, "rm", "This removes all below "+say(s)+".")
		}
	}
}

// executes runs a command for what is found.
func (w *walk) executes(starts []string, picks bool, cmd []string) {
	if len(cmd) == 0 {
		return
	}
	if name := program(cmd[0]); name == "rm" || name == "unlink" || name == "shred" {
		w.swept(starts, picks)
		return
	}
	for _, s := range starts {
		found := s
		if picks {
			found += "/" + string(some)
		}
		one := make([]string, len(cmd))
		for i, c := range cmd {
			one[i] = strings.ReplaceAll(c, "{}", found)
		}
		w.run(one, "")
	}
}

// fd is a find of another make: -x and -X run a command.
func (w *walk) fd(_ string, args []string, stdin string) string {
	for i, a := range args {
		if (a == "-x" || a == "-X" || a == "--exec" || a == "--exec-batch") && i+1 < len(args) {
			w.run(append(slices.Clone(args[i+1:]), string(some)), "")
			break
		}
	}
	return hidden(stdin)
}
