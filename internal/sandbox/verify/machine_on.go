//go:build ringfence_microvm

package verify

// machines is what a virtual machine has beyond the walls in it.
func machines() []Check {
	return []Check{
		{N: 70, Name: "nic", Defence: "the machine has no network card", Mechanism: "no such device, an empty network around", Some: true},
		{N: 71, Name: "share", Defence: "no share can be written", Mechanism: "read-only on the host's side", Some: true},
	}
}
