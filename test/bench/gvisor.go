package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"ringfence.dev/ringfence/test/built"
)

// gvisor measures the way to `true` and back on the rung of gVisor, beside runsc alone with
// a bundle of the same mounts, by the same user.
func (b *bench) gvisor() error {
	runsc, err := built.Runsc()
	if err != nil {
		return err
	}
	dir, err := b.workspace("gvisor", nil)
	if err != nil {
		return err
	}
	policy := filepath.Join(b.home, ".config", "ringfence")
	if err := os.MkdirAll(policy, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(policy+"/policy.toml", []byte("[rung]\nrunsc = \""+runsc+"\"\n"), 0o644); err != nil {
		return err
	}
	defer os.Remove(policy + "/policy.toml")
	bundle, err := b.bundle()
	if err != nil {
		return err
	}
	alone := []string{"unshare", "-Urn", runsc, "--root=" + bundle + "/state", "--ignore-cgroups", "--network=host", "--platform=systrap", "--overlay2=none",
		"--directfs=false", "run", "--bundle=" + bundle, "bench"}
	ours := func(net string) []string { return b.inside([]string{"--rung", "gvisor", "--net", net}, "/bin/true") }
	all, err := b.hyperfine(dir, b.rounds, alone, ours("none"), ours("dev"), b.inside([]string{"--review", "--net", "none"}, "/bin/true"))
	if err != nil {
		return err
	}
	med, least := ratio(all[1], all[0])
	b.add("start on gVisor / runsc alone, same bundle", med <= 1.3, "at most 1.3", "%.2f (minima %.2f)", med, least)
	med, least = ratio(all[2], all[1])
	b.note("start on gVisor with the gate / without", "%.2f (minima %.2f)", med, least)
	b.note("start on gVisor, medians", "runsc %.0f ms, without a network %.0f ms, with the gate %.0f ms; native rung %.0f ms",
		all[0].median()*1e3, all[1].median()*1e3, all[2].median()*1e3, all[3].median()*1e3)
	return nil
}

// bundle has the mounts that a session has: the system read-only, proc, devices, and what
// may be written.
func (b *bench) bundle() (string, error) {
	type mount struct {
		At      string   `json:"destination"`
		Type    string   `json:"type"`
		Source  string   `json:"source"`
		Options []string `json:"options"`
	}
	dir := filepath.Join(b.dir, "bundle")
	quiet := []string{"nosuid", "nodev", "noexec"}
	mounts := []mount{{"/proc", "proc", "proc", quiet}, {"/sys", "tmpfs", "tmpfs", append(quiet, "ro", "size=0")}, {"/dev", "tmpfs", "tmpfs", quiet[:1]},
		{"/dev/pts", "devpts", "devpts", []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}}, {"/dev/shm", "tmpfs", "tmpfs", quiet}}
	for _, at := range []string{"/run", "/tmp", "/var/tmp"} {
		from := dir + at
		if err := os.MkdirAll(from, 0o755); err != nil {
			return "", err
		}
		mounts = append(mounts, mount{at, "bind", from, []string{"rbind", "rw", "nosuid", "nodev"}})
	}
	conf := map[string]any{"ociVersion": "1.0.2", "hostname": "bench", "root": map[string]any{"path": "/", "readonly": true},
		"process": map[string]any{"user": map[string]int{"uid": 0, "gid": 0}, "args": []string{"/bin/true"}, "env": []string{}, "cwd": "/", "noNewPrivileges": true},
		"mounts":  mounts, "linux": map[string]any{"namespaces": []map[string]string{{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}}}}
	text, err := json.Marshal(conf)
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(dir+"/config.json", text, 0o644)
}
