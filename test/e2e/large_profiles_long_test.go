//go:build long

package e2e

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

var (
	largeProfiles = flag.String("profiles", "", "directory that TestLargeLong writes profiles of both replicas at rest, and their logs, to; serving profiles takes CPU that is measured too")
	largeQuiet    = flag.Bool("logs-only", false, "write no profiles, only logs")
)

// profile writes what each replica spends time on while nothing changes, and its heap
// before and after: with the one as the base of the other, go tool pprof
// -sample_index=alloc_space shows what is allocated meanwhile.
func (l *large) profile() {
	l.Helper()
	l.profiled++
	seconds := int(largeRest.Seconds()) - 5
	for _, one := range []struct{ name, query string }{
		{"heap-before", "heap?gc=1"}, {"cpu", "profile?seconds=" + strconv.Itoa(seconds)}, {"heap-after", "heap?gc=1"},
	} {
		var both sync.WaitGroup
		for i, address := range l.profiling {
			both.Go(func() {
				if err := fetchProfile("http://"+address+"/debug/pprof/"+one.query, filepath.Join(*largeProfiles, fmt.Sprintf("%s-replica-%d-%d.pprof", one.name, i+1, l.profiled))); err != nil {
					l.Errorf("the profile %s of replica %d: %v", one.name, i+1, err)
				}
			})
		}
		both.Wait()
	}
}

// profilingAddress is where nobody listens yet.
func profilingAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func fetchProfile(url, file string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, response.Body); err != nil {
		return err
	}
	return out.Close()
}
