//go:build amd64

package vm

import (
	"io/fs"
	"maps"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/microvm/cpio"
)

const scope = "systemd scope"

// underSystemd are accounts of a machine whose tree belongs to systemd: a service,
// who logs in over ssh, and who opens a terminal on a desktop.
var underSystemd = []account{
	{name: "service", parent: "/system.slice", pids: scope, memory: scope},
	{name: "login", uid: user, group: userSlice + "/session-1.scope", parent: "/" + appSlice, pids: scope, memory: scope,
		env: userEnv, proved: true},
	{name: "desktop", uid: user, group: appSlice + "/terminal.scope", parent: "/" + appSlice, pids: scope, memory: scope,
		env: userEnv, proved: true},
}

const (
	userSlice = "user.slice/user-1000.slice"
	appSlice  = userSlice + "/user@1000.service/app.slice"
)

var userEnv = []string{"XDG_RUNTIME_DIR=/run/user/1000"}

func TestSystemd(t *testing.T) {
	files := map[string]cpio.Entry{"var/run": {Mode: fs.ModeSymlink, Data: []byte("/run")}}
	maps.Copy(files, strictPolicy)
	for name, text := range units {
		files["etc/systemd/system/"+name] = cpio.Entry{Mode: 0o644, Data: []byte(text)}
	}
	m := boot(t, hardware{base: systemdTree(t), files: files, parameters: "systemd.unit=guest.service"})
	for _, a := range underSystemd {
		if a.group != "" {
			owner := a.uid
			if strings.HasPrefix(a.group, userSlice+"/session") {
				owner = 0 // a login session is not delegated
			}
			m.group(t, a.group, owner)
		}
		t.Run(a.name, func(t *testing.T) { claims(t, m, a) })
	}
}

// units are the machine's own: the server, a bus and the manager of a user. The
// last is what Debian ships as user@.service, without PAM and the login daemon.
// A manager that is asked to take a process out of a login session asks the first
// manager in turn, over the bus.
var units = map[string]string{
	"guest.service": `[Unit]
DefaultDependencies=no
Wants=dbus.service user@1000.service
After=dbus.service user@1000.service
SuccessAction=reboot-immediate
FailureAction=reboot-immediate
[Service]
ExecStart=/usr/bin/guest serve
`,
	"dbus.socket": `[Unit]
DefaultDependencies=no
[Socket]
ListenStream=/run/dbus/system_bus_socket
`,
	"dbus.service": `[Unit]
DefaultDependencies=no
Requires=dbus.socket
[Service]
Type=notify
ExecStart=/usr/bin/dbus-daemon --config-file=/etc/systemd/system/bus.conf --address=systemd: --nofork --nopidfile --systemd-activation
`,
	"bus.conf": `<busconfig>
<type>system</type>
<listen>unix:path=/run/dbus/system_bus_socket</listen>
<auth>EXTERNAL</auth>
<policy context="default">
<allow user="*"/> <allow own="*"/> <allow send_destination="*"/> <allow receive_sender="*"/>
</policy>
</busconfig>
`,
	"user@.service": `[Unit]
DefaultDependencies=no
After=dbus.service
[Service]
Type=notify
User=%i
Slice=user-%i.slice
Delegate=pids memory
RuntimeDirectory=user/%i
RuntimeDirectoryMode=0700
Environment=XDG_RUNTIME_DIR=/run/user/%i HOME=/home/user
ExecStart=/usr/lib/systemd/systemd --user
`,
}
