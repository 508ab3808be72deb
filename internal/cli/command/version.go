package command

import "runtime/debug"

// Version is set by the linker.
var Version = "unknown"

func VersionText() string {
	if info, ok := debug.ReadBuildInfo(); ok && Version == "unknown" && info.Main.Version != "" {
		return info.Main.Version
	}
	return Version
}
