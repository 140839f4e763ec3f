package load

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// stdinName is how standard input is called in origins.
const stdinName = "standard input"

// file is one file to read.
type file struct {
	name string
	open func() (io.ReadCloser, error)
}

// collector finds the files that paths name.
type collector struct {
	files    []file
	problems stored.Problems
	// seen holds resolved paths, so that a file which is reached twice, by a
	// link or by two paths, is read once, and links in a circle end.
	seen map[string]bool
}

// collect lists the files of the paths, in the order of the paths and by name
// within a directory. "-" is stdin. Directories are searched to any depth for
// names that end in .yaml, .yml or .json, in any case; names that begin with a
// dot are passed over, which leaves out the ..data of mounted volumes and the
// temporary files of editors. A link is followed. A path that is named itself
// is read whatever its name is.
func collect(paths []string, stdin io.Reader) ([]file, stored.Problems) {
	c := collector{seen: map[string]bool{}}
	for _, path := range paths {
		if path == "-" {
			c.stdin(stdin)
			continue
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			c.unreadable(path, err)
		case info.IsDir():
			c.dir(path)
		default:
			c.add(path)
		}
	}
	return c.files, c.problems
}

func (c *collector) stdin(stdin io.Reader) {
	switch {
	case stdin == nil:
		c.problem(stdinName, "cannot be read here; name a file or a directory")
	case c.seen["-"]:
		c.problem(stdinName, "is named twice; it can be read once")
	default:
		c.seen["-"] = true
		c.files = append(c.files, file{stdinName, func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }})
	}
}

// dir walks a directory. What cannot be looked at is a problem: it may hold a
// policy.
func (c *collector) dir(path string) {
	if !c.first(path) {
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		c.unreadable(path, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") {
			continue
		}
		full := filepath.Join(path, name)
		mode := entry.Type()
		if mode&fs.ModeSymlink != 0 {
			info, err := os.Stat(full)
			if err != nil {
				c.unreadable(full, err)
				continue
			}
			mode = info.Mode().Type()
		}
		switch {
		case mode.IsDir():
			c.dir(full)
		case !isManifestName(name):
		case mode.IsRegular():
			c.add(full)
		default:
			c.problem(full, "is not a regular file; name it itself to have it read")
		}
	}
}

func (c *collector) add(path string) {
	if c.first(path) {
		c.files = append(c.files, file{path, func() (io.ReadCloser, error) { return os.Open(path) }})
	}
}

// first reports whether the path is met for the first time, however it was
// reached.
func (c *collector) first(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		resolved = path
	}
	if absolute, err := filepath.Abs(resolved); err == nil {
		resolved = absolute
	}
	if c.seen[resolved] {
		return false
	}
	c.seen[resolved] = true
	return true
}

func (c *collector) unreadable(path string, err error) {
	c.problem(path, unreadable(err))
}

func (c *collector) problem(path, detail string) {
	c.problems = append(c.problems, stored.Problem{Origin: path, Detail: detail})
}

// unreadable words an error of the file system without repeating the path.
func unreadable(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return "cannot be read: " + err.Error()
}

func isManifestName(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}
