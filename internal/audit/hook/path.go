package hook

import (
	"path"
	"slices"
	"strings"
)

// abs is a path without ., .. and double slashes, from where the shell stands.
func (s *state) abs(name string) string { return absFrom(s.dir, name) }

func absFrom(dir, name string) string {
	if !strings.HasPrefix(name, "/") {
		name = dir + "/" + name
	}
	return path.Clean(name)
}

// reach says how bad it is to lose a path, with all below it.
type reach int

const (
	little  reach = iota
	perhaps       // it depends on what is not known
	much          // a root, a home, the directory itself, or what is above it
)

// system are the directories that hold the machine.
var system = strings.Fields("/bin /boot /dev /etc /home /lib /lib32 /lib64 /media /mnt /nix /opt /proc /root /run /sbin /srv /sys /usr /var " +
	"/usr/bin /usr/include /usr/lib /usr/lib64 /usr/libexec /usr/local /usr/sbin /usr/share /usr/src /usr/local/bin /usr/local/lib " +
	"/var/lib /var/log /var/mail /var/spool /etc/ssh /etc/ssl /etc/systemd /etc/pam.d " +
	"/Users /System /Library /Applications /private")

// treasures are what a home is kept for.
var treasures = strings.Fields(".ssh .gnupg .aws .kube .docker .config .local .local/share .mozilla .password-store Documents Desktop Downloads Pictures Music Videos")

// reaches judges what a path leads to, pattern or not.
func (s *state) reaches(target string) reach {
	if target == "" {
		return little
	}
	if strings.Contains(target, unset) {
		return s.ifEmpty(target)
	}
	if !known(target) {
		return s.unknownPath(target)
	}
	if !known(s.dir) && !strings.HasPrefix(target, "/") {
		if first, _, _ := strings.Cut(target, "/"); everything(first) || first == "." || first == ".." {
			return perhaps
		}
		return little
	}
	return s.level(s.abs(target))
}

// ifEmpty judges a path with a variable in it that may be empty.
func (s *state) ifEmpty(target string) reach {
	without := strings.ReplaceAll(target, unset, "")
	if without != "" && known(without) && s.reaches(without) == much {
		// /home/$USER is a home whatever it is.
		if strings.HasPrefix(target, "/") {
			return much
		}
		return perhaps
	}
	if strings.HasPrefix(target, "/") {
		return s.unknownPath(strings.ReplaceAll(target, unset, some))
	}
	return little
}

// unknownPath judges a path of which a part is not known: by what is above it.
func (s *state) unknownPath(target string) reach {
	if !strings.HasPrefix(target, "/") {
		return little
	}
	dir := path.Dir(path.Clean(target))
	if known(dir) && (dir == "/" || dir == "/home" || dir == path.Dir(s.where.Home)) {
		return much
	}
	return little
}

// level judges a clean, absolute path that is known but for patterns.
func (s *state) level(p string) reach {
	dir, last := path.Split(p)
	for p != "/" && everything(last) {
		p = path.Clean(dir)
		dir, last = path.Split(p)
	}
	home, start := path.Clean(s.where.Home), path.Clean(s.where.Dir)
	switch {
	case p == "/", slices.Contains(system, p):
		return much
	case above(p, home), above(p, start):
		return much
	case path.Dir(p) == "/home" || path.Dir(p) == "/Users":
		return much
	case path.Dir(p) == home && slices.Contains(treasures, last), path.Dir(path.Dir(p)) == home && slices.Contains(treasures, strings.TrimPrefix(p, home+"/")):
		return much
	case strings.ContainsAny(p, "*?["):
		return pattern(p, home, start)
	case p == "/tmp" || p == "/var/tmp":
		return perhaps
	}
	return little
}

// pattern judges one: if it could be a directory of the system, or one above us.
func pattern(p, home, start string) reach {
	glob := p
	for _, s := range append([]string{home, start, path.Dir(home), path.Dir(start)}, system...) {
		if ok, err := path.Match(glob, s); ok && err == nil {
			return much
		}
	}
	if i := strings.IndexAny(p, "*?["); strings.Count(p[:i], "/") == 1 {
		return much // /*/bin and its like
	}
	return little
}

// above holds for a directory that is p or lies above it.
func above(dir, p string) bool { return dir == p || dir == "/" || strings.HasPrefix(p, dir+"/") }

// everything holds for a pattern that all names, or all hidden ones, match.
func everything(s string) bool {
	return s != "" && strings.Contains(s, "*") && strings.Trim(s, "*?.") == "" ||
		strings.HasPrefix(s, ".[!.") || strings.HasPrefix(s, ".[^.")
}

// device holds for what would overwrite a disk.
func device(name string) bool {
	rest, ok := strings.CutPrefix(path.Clean(name), "/dev/")
	if !ok {
		return false
	}
	for _, prefix := range []string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "mapper/", "dm-", "md", "loop", "nbd", "mem", "kmem", "port", "rdisk", "zram", "pmem"} {
		if strings.HasPrefix(rest, prefix) {
			return true
		}
	}
	return strings.ContainsAny(name, "*?[") && !strings.HasPrefix(rest, "fd/") && !strings.HasPrefix(rest, "shm/")
}
