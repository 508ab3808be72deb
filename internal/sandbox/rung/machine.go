package rung

// NoMachine is what a rung leaves that is no virtual machine.
func NoMachine(leaves map[string]string) map[string]string {
	leaves["nic"] = "on this rung there is no machine of its own"
	leaves["share"] = leaves["nic"]
	return leaves
}
