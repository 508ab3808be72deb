//go:build !ringfence_carried

package main

// carried is empty where only this program was built: it then plays the small one, too.
const carried = ""
