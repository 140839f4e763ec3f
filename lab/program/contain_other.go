//go:build !linux

package program

import (
	"fmt"
	"os"
	"syscall"
)

func ownMounts() *syscall.SysProcAttr { return nil }

// Contain fails: programs run in pods only on Linux.
func Contain([]string) int {
	fmt.Fprintln(os.Stderr, "container: programs run in pods only on Linux")
	return 128
}
