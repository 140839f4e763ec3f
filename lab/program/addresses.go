package program

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Pods get addresses of 10.250.0.0/16: endpoints may not be loopback addresses. Each
// process takes 254 of them for as long as it holds the lock on a file.
const (
	blocks    = 256
	perBlock  = 254
	blockOf   = "10.250.%d.0/24"
	addressOf = "10.250.%d.%d"
)

// addresses are a range of them that leads to this machine.
type addresses struct {
	block int
	lock  *os.File

	mu   sync.Mutex
	last int
	used map[int]bool
}

// takeAddresses takes a range that no other process has.
func takeAddresses() (*addresses, error) {
	dir := filepath.Join(os.TempDir(), "sallyport-pod-addresses")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for block := range blocks {
		file, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(block)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = file.Close()
			continue
		}
		a := &addresses{block: block, lock: file, used: map[int]bool{}}
		// A process that was killed has left its route behind: replace takes it over.
		if err := a.route("replace"); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return a, nil
	}
	return nil, errors.New("other processes have all of 10.250.0.0/16")
}

// route has the system take every address of the range for its own, or no longer.
func (a *addresses) route(verb string) error {
	output, err := exec.Command("ip", "route", verb, "local", fmt.Sprintf(blockOf, a.block), "dev", "lo").CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip route %s (from iproute2, with CAP_NET_ADMIN): %w: %s", verb, err, strings.TrimSpace(string(output)))
	}
	return nil
}

// next returns the address that has been free for the longest time.
func (a *addresses) next() (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range perBlock {
		a.last = a.last%perBlock + 1
		if !a.used[a.last] {
			a.used[a.last] = true
			return fmt.Sprintf(addressOf, a.block, a.last), nil
		}
	}
	return "", fmt.Errorf("all %d addresses of %s are taken", perBlock, fmt.Sprintf(blockOf, a.block))
}

func (a *addresses) giveBack(address string) {
	ip := net.ParseIP(address).To4()
	if ip == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, int(ip[3]))
}

func (a *addresses) close() error {
	return errors.Join(a.route("del"), a.lock.Close())
}
