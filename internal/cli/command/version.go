package command

import "runtime/debug"

// Version is set by the linker.
var Version = "unknown"

// VersionText is the version, or what the build knows of it.
func VersionText() string {
	if info, ok := debug.ReadBuildInfo(); ok && Version == "unknown" && info.Main.Version != "" {
		return info.Main.Version
	}
	return Version
}
